"""What an import of the package costs: nothing, until something is asked of it."""

from __future__ import annotations

import subprocess
import sys

import lembas_mcp
import pytest

HEAVY = {"mcp", "mcp_types", "pydantic", "starlette", "uvicorn", "sqlalchemy", "httpx2"}


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import lembas_mcp, sys; print(sorted({HEAVY} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", lembas_mcp.__all__)
def test_every_public_name_is_there_when_it_is_asked_for(name: str) -> None:
    assert callable(getattr(lembas_mcp, name))
    assert name in dir(lembas_mcp)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'serve'"):
        _ = lembas_mcp.serve  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]
