"""The web server of LLeMbas.

Start it with `uvicorn --factory lembas_web:create_app`.
"""

from __future__ import annotations

from lembas_web.app import create_app

__all__ = ("create_app",)
