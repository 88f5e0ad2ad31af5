"""What an instance is told: its settings, the connections to endpoints, the models they offer."""

from __future__ import annotations

from lembas_core.settings.connections import Connections
from lembas_core.settings.discovery import Discovery
from lembas_core.settings.local import LocalModels
from lembas_core.settings.models import Models
from lembas_core.settings.pool import Endpoints
from lembas_core.settings.registry import InstanceSettings
from lembas_core.settings.service import SettingInfo, Settings
from lembas_core.settings.shelf import ModelSetup
from lembas_core.settings.values import ConnectionInfo, ConnectionTest, ModelEntry

__all__ = (
    "ConnectionInfo",
    "ConnectionTest",
    "Connections",
    "Discovery",
    "Endpoints",
    "InstanceSettings",
    "LocalModels",
    "ModelEntry",
    "ModelSetup",
    "Models",
    "SettingInfo",
    "Settings",
)
