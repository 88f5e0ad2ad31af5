"""The database: tables, transactions in threads, full-text search, sealed secrets."""

from __future__ import annotations

from lembas_core.store import tables
from lembas_core.store.store import Store

__all__ = ("Store", "tables")
