from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lembas_core.errors import Invalid
from lembas_core.settings.addresses import (
    checked_headers,
    checked_key,
    checked_name,
    checked_url,
    mask,
    name_from,
)


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("http://localhost:11434", "http://localhost:11434"),
        (" https://api.example.com/v1/ ", "https://api.example.com/v1"),
        ("localhost:8080", "http://localhost:8080"),
        ("127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("gpu:8080", "http://gpu:8080"),
        ("openrouter.ai/api/v1", "https://openrouter.ai/api/v1"),
    ],
)
def test_an_address_is_kept_as_a_base_url(typed: str, kept: str) -> None:
    assert checked_url(typed) == kept


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "ftp://example.com",
        "file:///etc/passwd",
        "http://",
        "http://h:99999",
        "http://h:port",
        "http://[::1",
        "https://user:secret@example.com/v1",
        "https://example.com/v1?key=secret",
        "https://example.com/#x",
        "https://exa mple.com",
        "https://example.com/\x07",
    ],
)
def test_what_is_no_base_url_is_refused_in_one_sentence(typed: str) -> None:
    with pytest.raises(Invalid) as caught:
        checked_url(typed)
    assert str(caught.value).endswith(".")


def test_a_password_in_an_address_is_not_repeated() -> None:
    with pytest.raises(Invalid) as caught:
        checked_url("https://user:hunter2@example.com")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("http://localhost:11434", "localhost"),
        ("http://192.168.1.7:8080", "192.168.1.7"),
        ("http://127.0.0.1:9", "127.0.0.1"),
        ("http://[::1]:8080", "::1"),
        ("http://[fd00::1]:8080", "fd00::1"),
        ("http://gpu:8080", "gpu"),
        ("https://openrouter.ai/api/v1", "openrouter"),
    ],
)
def test_a_connection_is_called_by_its_host(url: str, name: str) -> None:
    assert name_from(url) == name
    assert checked_name(name) == name


@pytest.mark.parametrize("name", ["", "a b", "a/b", "local", "x" * 65, "a\nb", "a\u200bb"])
def test_a_name_that_would_not_find_a_model_is_refused(name: str) -> None:
    with pytest.raises(Invalid):
        checked_name(name)


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel", "a\x00b"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(Invalid) as caught:
        checked_key(key)
    assert key not in str(caught.value)


def test_a_key_is_kept_without_the_white_space_around_it() -> None:
    assert checked_key(" sk-123\n") == "sk-123"
    assert checked_key("  ") is None
    assert checked_key(None) is None


@pytest.mark.parametrize(
    "headers", [{"Bad Name": "x"}, {"": "x"}, {"X-A": "a\r\nX-B: b"}, {"Content-Length": "9"}, {"X-A": "ü"}]
)
def test_a_header_that_cannot_be_sent_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(Invalid):
        checked_headers(headers)


@given(st.text(min_size=1))
def test_a_mask_never_shows_more_than_four_characters_of_a_key(key: str) -> None:
    shown = mask(key).removeprefix("…")
    assert len(shown) <= 4
    assert not shown or len(key) >= 16
