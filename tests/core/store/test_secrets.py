from __future__ import annotations

from pathlib import Path

import pytest
from lembas_core.errors import SecretMissing, StoreError
from lembas_core.store.secrets import Vault, new_key


def test_a_secret_comes_back_and_is_not_in_what_is_stored(tmp_path: Path) -> None:
    sealed = Vault(file=tmp_path / "secret.key").seal("mellon ñ")
    assert "mellon" not in sealed
    assert Vault(file=tmp_path / "secret.key").open(sealed) == "mellon ñ"


def test_the_key_file_is_made_with_the_first_secret_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "data" / "secret.key"
    vault = Vault(file=file)
    assert not file.parent.exists()
    vault.seal("x")
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [*file.parent.iterdir()] == [file]


def test_a_key_that_is_given_wins_and_leaves_no_file(tmp_path: Path) -> None:
    vault = Vault(new_key(), file=tmp_path / "secret.key")
    assert vault.open(vault.seal("x")) == "x"
    assert [*tmp_path.iterdir()] == []


def test_a_missing_key_is_told_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "secret.key"
    sealed = Vault(file=file).seal("x")
    file.unlink()
    with pytest.raises(SecretMissing, match=r"put it back into .*secret\.key"):
        Vault(file=file).open(sealed)
    assert not file.exists()


def test_another_key_is_told(tmp_path: Path) -> None:
    sealed, key = Vault(new_key()).seal("x"), new_key()
    with pytest.raises(SecretMissing, match="not the one") as caught:
        Vault(key).open(sealed)
    assert key not in str(caught.value)


@pytest.mark.parametrize("key", ["mellon", "ñ" * 44, "A" * 44])
def test_what_is_no_key_is_told_without_showing_it(key: str) -> None:
    with pytest.raises(SecretMissing, match="secret-key --new") as caught:
        Vault(key).seal("x")
    assert key not in str(caught.value)
    assert key not in repr(Vault(key))


def test_a_key_file_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="secret"):
        Vault(file=tmp_path / "file" / "secret.key").seal("x")
