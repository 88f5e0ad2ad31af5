"""Where an endpoint is, from what a person typed. No I/O."""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import SplitResult, quote, urlsplit

from lembas_core.frozen import frozen

__all__ = ("Address",)

_SAFE: Final = "/%:@!$&'()*+,;=~-._"
_ENDING: Final = re.compile(
    r"/(?:chat/completions|completions|models|embeddings|api/(?:chat|generate|tags))$"
)


@frozen
class Address:
    """The addresses below one URL, none with credentials.

    Attributes:
        root: Scheme, host and any prefix: what Ollama's `/api/…` and llama.cpp's `/props` hang below.
        openai: What `/chat/completions` hangs below: `root` with `/v1`, or the URL's own path.
        user: `name:password` where the URL had them, else "".
    """

    root: str
    openai: str
    user: str = ""

    @classmethod
    def parse(cls, url: str) -> Address:
        """Forgiving: the scheme, `/v1` and a last slash may be missing or too much.

        Raises:
            ValueError: This is no http or https URL.
        """
        parts = _split(url)
        user, _, host = parts.netloc.rpartition("@")
        path = _ENDING.sub("", re.sub(r"/+$", "", quote(parts.path, safe=_SAFE)))
        path = re.sub(r"/+$", "", path)
        origin = f"{parts.scheme.lower()}://{host.lower()}"
        root = origin + re.sub(r"/(?:v\d[\w.]*|api)$", "", path)
        return cls(root, origin + (path or "/v1"), user)


def _split(url: str) -> SplitResult:
    text = url.strip()
    try:
        if "://" not in text:
            text = f"{'http' if _is_near(text) else 'https'}://{text}"
        parts = urlsplit(text)
        if not parts.netloc.isascii():
            parts = parts._replace(netloc=_in_ascii(parts.netloc))
        good = parts.scheme.lower() in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        good, parts = False, None
    if not good or parts is None or re.search(r"[\s\x00-\x1f]", text):
        raise ValueError("This is no address of a model server; one looks like http://localhost:11434.")
    return parts


def _in_ascii(netloc: str) -> str:
    user, at, host = netloc.rpartition("@")
    name, colon, port = host.partition(":")
    return f"{quote(user)}{at}{name.encode('idna').decode('ascii')}{colon}{port}"


def _is_near(text: str) -> bool:
    """Whether a URL without scheme names something in one's own network: a port, an IP, a bare name."""
    host = urlsplit(f"//{text}")
    try:
        ipaddress.ip_address(host.hostname or "")
    except ValueError:
        return host.port is not None or "." not in (host.hostname or "")
    return True
