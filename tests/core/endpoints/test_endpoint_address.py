"""What a person types as an address is understood, and what is none is refused."""

from __future__ import annotations

import pytest
from lembas_core.endpoints import Endpoint
from lembas_core.endpoints.address import Address


@pytest.mark.parametrize(
    ("url", "root", "openai"),
    [
        ("http://host:11434", "http://host:11434", "http://host:11434/v1"),
        ("http://host:8080/", "http://host:8080", "http://host:8080/v1"),
        ("http://host:8080/v1", "http://host:8080", "http://host:8080/v1"),
        ("http://host:8080/v1/", "http://host:8080", "http://host:8080/v1"),
        ("http://host:8080/v1/chat/completions", "http://host:8080", "http://host:8080/v1"),
        ("http://host:8080/v1/models/", "http://host:8080", "http://host:8080/v1"),
        ("http://host:11434/api/chat", "http://host:11434", "http://host:11434/v1"),
        (
            "https://openrouter.example/api/v1",
            "https://openrouter.example/api",
            "https://openrouter.example/api/v1",
        ),
        ("https://host/openai/v1", "https://host/openai", "https://host/openai/v1"),
        ("https://host/v1beta/openai/", "https://host/v1beta/openai", "https://host/v1beta/openai"),
        ("http://host:3000/api", "http://host:3000", "http://host:3000/api"),
        ("HTTP://HOST/v1", "http://host", "http://host/v1"),
        ("localhost:11434", "http://localhost:11434", "http://localhost:11434/v1"),
        ("gandalf:8080/v1", "http://gandalf:8080", "http://gandalf:8080/v1"),
        ("127.0.0.1", "http://127.0.0.1", "http://127.0.0.1/v1"),
        ("[::1]:8080", "http://[::1]:8080", "http://[::1]:8080/v1"),
        ("api.host.example/v1", "https://api.host.example", "https://api.host.example/v1"),
        (
            "http://b\u00fccher.example:8080",
            "http://xn--bcher-kva.example:8080",
            "http://xn--bcher-kva.example:8080/v1",
        ),
        ("http://host/\u00e9/v1", "http://host/%C3%A9", "http://host/%C3%A9/v1"),
        ("  http://host  ", "http://host", "http://host/v1"),
        ("http://me:secret@host/v1?x=1#y", "http://host", "http://host/v1"),
    ],
)
def test_addresses_are_forgiving(url: str, root: str, openai: str) -> None:
    address = Address.parse(url)
    assert (address.root, address.openai) == (root, openai)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "   ",
        "ftp://host",
        "http://",
        "http://host:0",
        "http://host:99999",
        "http://ho st/",
        "http://[::1",
        "://x",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="no address of a model server"):
        Endpoint(url)


def test_credentials_are_sent_and_never_shown() -> None:
    endpoint = Endpoint("http://me:s3cret@host/v1", key="k3y")
    assert endpoint.url == "http://host/v1"
    assert "s3cret" not in repr(endpoint)
    assert "k3y" not in repr(endpoint)
    assert "k3y" not in repr(endpoint.model("m"))


@pytest.mark.parametrize(
    ("key", "headers"),
    [
        ("k\u00e9y", {}),
        ("k\ney", {}),
        (None, {"X-A": "a\r\nX-B: b"}),
        (None, {"X Y": "a"}),
        (None, {"": "a"}),
        (None, {"Transfer-Encoding": "gzip"}),
    ],
)
def test_a_key_or_header_that_cannot_be_sent_is_refused(key: str | None, headers: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="cannot be sent"):
        Endpoint("http://host", key=key, headers=headers)
