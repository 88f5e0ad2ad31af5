"""`python -m lembas_cli` is `lembas`."""

from __future__ import annotations

from lembas_cli import main

if __name__ == "__main__":
    main()
