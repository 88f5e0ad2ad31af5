"""People of an instance."""

from __future__ import annotations

from lembas_core.people.accounts import People, PersonInfo
from lembas_core.people.owner import OWNER_ID, Holder

__all__ = ("OWNER_ID", "Holder", "People", "PersonInfo")
