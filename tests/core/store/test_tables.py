"""The tables as they are made here, against what SQLAlchemy makes of the same classes."""

from __future__ import annotations

from typing import Any

import pytest
from lembas_core.store import tables
from sqlalchemy import MetaData, Table, TypedColumns
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateColumn


def columns(table: Table[Any]) -> list[str]:
    dialects = sqlite.dialect(), postgresql.dialect()
    return [str(CreateColumn(column).compile(dialect=d)) for column in table.columns for d in dialects]


@pytest.mark.parametrize("name", tables.metadata.tables)
def test_a_table_has_the_columns_that_sqlalchemy_reads_from_its_class(name: str):
    made = {cls.__name__: cls for cls in TypedColumns.__subclasses__() if cls.__module__ == tables.__name__}
    theirs = Table(name, MetaData(), made[f"_{name.capitalize()}"])
    ours = tables.metadata.tables[name]
    assert columns(ours) == columns(theirs)
    assert list(ours.c.keys()) == list(theirs.c.keys())
