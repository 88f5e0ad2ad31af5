"""What a person has said and been answered: chats, their messages, their versions."""
