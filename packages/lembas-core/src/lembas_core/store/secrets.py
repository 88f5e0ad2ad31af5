"""Secrets at rest: sealed with Fernet, by a key from the environment or from a file for its owner alone.

`cryptography` is imported when the first secret is sealed or opened.
"""

from __future__ import annotations

import base64
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from lembas_core.errors import SecretMissing, StoreError

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

    from lembas_core.config import Config

__all__ = ("Vault", "load_vault", "new_key")


def new_key() -> str:
    """A fresh key: 32 random bytes as Fernet writes them (https://github.com/fernet/spec)."""
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()


def load_vault(config: Config) -> Vault:
    """The vault of an instance: its key is in LEMBAS_SECRET_KEY or in the key file of the data directory."""
    return Vault(config.secret_key, file=config.key_file)


class Vault:
    """Seals and opens secrets with one key, which is made when the first secret is sealed."""

    def __init__(self, key: str | None = None, *, file: Path | None = None) -> None:
        """Nothing is read or made yet.

        Args:
            key: The key itself; wins over the file.
            file: Where the key is kept, or will be.
        """
        self._key = key or None
        self._file = file
        self._source = "LEMBAS_SECRET_KEY" if key else str(file)

    def __repr__(self) -> str:
        return f"Vault({self._source})"

    def seal(self, secret: str) -> str:
        """`secret` in a form that only the key opens.

        Raises:
            SecretMissing: What was given as the key is none.
            StoreError: The key file cannot be read or made.
        """
        return self._fernet(self.key() or self._make()).encrypt(secret.encode()).decode()

    def open(self, sealed: str) -> str:
        """The secret that `seal` was given.

        Raises:
            SecretMissing: There is no key, or it is not the one that this was sealed with.
            StoreError: The key file cannot be read.
        """
        key = self.key()
        if key is None:
            raise SecretMissing(
                f"The key of the stored secrets is missing: put it back into {self._file}, "
                "set LEMBAS_SECRET_KEY to it, or remove what holds the secrets and add it anew."
            )
        fernet = self._fernet(key)
        from cryptography.fernet import InvalidToken

        try:
            return fernet.decrypt(sealed.encode()).decode()
        except InvalidToken:
            raise SecretMissing(
                f"The key in {self._source} is not the one that a stored secret was sealed with: "
                "put that one back, or remove what holds the secret and add it anew."
            ) from None

    def key(self) -> str | None:
        """The key itself, None when none was made yet. Who has it can open every secret.

        Raises:
            StoreError: The key file cannot be read.
        """
        if self._key is not None or self._file is None:
            return self._key
        try:
            return self._file.read_text(encoding="ascii", errors="replace").strip()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"The key file {self._file} cannot be read: {error.strerror}.") from error

    def _fernet(self, key: str) -> Fernet:
        from cryptography.fernet import Fernet

        try:
            return Fernet(key)
        except ValueError:
            raise SecretMissing(
                f"What is in {self._source} is not a key; `lembas secret-key --new` makes one."
            ) from None

    def _make(self) -> str:
        if self._file is None:
            self._key = new_key()
            return self._key
        try:
            return _keep(self._file, new_key())
        except OSError as error:
            raise StoreError(f"The key file {self._file} cannot be made: {error.strerror}.") from error


def _keep(file: Path, key: str) -> str:
    """Write a key file whole, unless another process was first; the key that is in it then."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as out:
            out.write(f"{key}\n")
            out.flush()
            os.fsync(out.fileno())
        os.link(draft, file)  # unlike a rename, never over a key that is there
    except FileExistsError:
        return file.read_text(encoding="ascii").strip()
    finally:
        draft.unlink(missing_ok=True)
    return key
