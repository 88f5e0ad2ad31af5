"""What a person may type for a connection, checked before it is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from lembas_core.endpoints.address import Address
from lembas_core.endpoints.exchange import header_problem
from lembas_core.errors import Invalid
from lembas_core.settings.local import LOCAL

__all__ = ("checked_headers", "checked_key", "checked_name", "checked_url", "mask", "name_from")

_NAME = re.compile(r"[^\s/\x00-\x1f\x7f]{1,64}")


def checked_url(url: str) -> str:
    """A base URL as it is kept: http or https, without credentials, query and trailing slash.

    Raises:
        Invalid: It is none of that.
    """
    text = url.strip()
    try:
        scheme = Address.parse(text).root.partition(":")[0]
    except ValueError as error:
        raise Invalid(str(error)) from None
    text = text if "://" in text else f"{scheme}://{text}"
    parts = urlsplit(text)
    if parts.username is not None or parts.password is not None:
        raise Invalid("The address holds a user name or password; give a secret as the key instead.")
    if parts.query or parts.fragment:
        raise Invalid(f"The address {url!r} holds a query or fragment; give only the base URL.")
    if any(character.isspace() or not character.isprintable() for character in text):
        raise Invalid(f"The address {url!r} holds spaces or characters that cannot be seen.")
    return text.rstrip("/")


def checked_name(name: str) -> str:
    """A connection's name.

    Raises:
        Invalid: It is empty, too long, reserved, or holds a space or a slash.
    """
    text = name.strip()
    if not _NAME.fullmatch(text) or not text.isprintable():
        raise Invalid(f"{name!r} cannot be a connection's name: 1 to 64 characters, no spaces, no slash.")
    if text == LOCAL:
        raise Invalid("The name 'local' belongs to the embedded model; choose another one.")
    return text


def name_from(url: str) -> str:
    """A name from a base URL that was checked: the host, or its last words before the ending."""
    host = urlsplit(url).hostname or "endpoint"
    if ":" in host or re.fullmatch(r"[\d.]+", host):
        return host
    labels = host.removeprefix("www.").removeprefix("api.").split(".")
    return labels[-2] if len(labels) > 1 else labels[0]


def checked_key(key: str | None) -> str | None:
    """A key as it is sealed; blank counts as none.

    Raises:
        Invalid: It cannot be sent in a header.
    """
    text = (key or "").strip()
    if not text:
        return None
    if not text.isascii() or not text.isprintable() or " " in text:
        raise Invalid("The key holds spaces or characters that no header can carry; was it copied whole?")
    return text


def checked_headers(headers: Mapping[str, str] | None) -> dict[str, str]:
    """Extra headers as they are sealed.

    Raises:
        Invalid: A name or a value cannot be sent.
    """
    for name, value in (headers or {}).items():
        if problem := header_problem(name, value):
            raise Invalid(problem)
    return dict(headers or {})


def mask(key: str) -> str:
    """A key as a person may see it: its last four characters, if enough stay hidden."""
    return f"…{key[-4:]}" if len(key) >= 16 else "…"
