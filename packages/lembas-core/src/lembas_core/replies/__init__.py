"""Replies that run in the background: started, followed, stopped, answered, kept."""

from __future__ import annotations

from lembas_core.replies.job import Ended, Job, Work
from lembas_core.replies.owner import owner_token
from lembas_core.replies.service import Replies

__all__ = ("Ended", "Job", "Replies", "Work", "owner_token")
