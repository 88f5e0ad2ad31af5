"""Replies that run in the background: started, followed, stopped, answered, kept."""
