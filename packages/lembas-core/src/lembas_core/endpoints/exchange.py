"""What is asked of one server and what it answers, whole answers and heads of streams."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import orjson

from lembas_core.endpoints.address import Address
from lembas_core.endpoints.faults import Faults
from lembas_core.endpoints.messages import is_error
from lembas_core.endpoints.streaming import Timeouts
from lembas_core.endpoints.wire import load, scrubbed
from lembas_core.errors import EndpointError

if TYPE_CHECKING:
    from lembas_core.endpoints.transport import Answer, Transport

__all__ = ("Exchange", "header_problem")

_MAX_BODY: Final = 16 << 20
_MAX_ERROR: Final = 64 << 10
_ERROR_SECONDS: Final = 10.0
_ALWAYS: Final = {
    "accept": "*/*",
    "accept-encoding": "identity",
    "content-type": "application/json",
    "user-agent": "lembas",
}
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
"""What a header's name is made of (RFC 9110, section 5.6.2), in lower case."""
_FRAMING: Final = ("connection", "content-length", "expect", "transfer-encoding", "upgrade")


class Exchange:
    """The requests to one server; connections are made at the first.

    Args:
        address: Where it is.
        key: The key that is sent as a bearer token.
        headers: Further header fields for every request.
        timeouts: How long to wait.

    Attributes:
        faults: Makes the server's errors.
        keep: Whether connections are kept for the next request; what was made before stays as it is.
        is_llama_cpp: The server has called itself llama.cpp.

    Raises:
        ValueError: The key or a header cannot be sent.
    """

    def __init__(
        self, address: Address, key: str | None, headers: Mapping[str, str], timeouts: Timeouts
    ) -> None:
        self.keep = False
        self.is_llama_cpp: bool = False
        self._address = address
        self._headers = _headers(key, headers, address.user)
        self._timeouts = timeouts
        self._transport: Transport | None = None
        keyed = "authorization" in self._headers
        self.faults: Faults = Faults(address.openai, _secrets(self._headers), keyed=keyed)

    async def aclose(self) -> None:
        """Close all connections; the next request makes new ones."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    async def open(self, method: str, url: str, body: Any, seconds: float) -> Answer:
        """Send a request (`body` as JSON unless it is None) and read the head of its answer.

        Raises:
            EndpointError: No answer came within `seconds`.
        """
        answer = await self._connected().open(method, url, None if body is None else _dumped(body), seconds)
        self.is_llama_cpp = self.is_llama_cpp or "llama.cpp" in answer.headers.get("server", "").lower()
        return answer

    async def refusal(self, answer: Answer, url: str, model: str = "") -> EndpointError:
        """The error that an answer other than success tells of; the answer is closed."""
        try:
            body = await answer.read(_MAX_ERROR, _ERROR_SECONDS)
        except EndpointError:
            body = b""  # The status alone has to tell.
        finally:
            await answer.aclose()
        path = url.removeprefix(self._address.root)
        return self.faults.status(answer.status, answer.headers, body, model=model, path=path)

    async def json(self, method: str, url: str, body: Any, seconds: float, *, model: str = "") -> Any:
        """One request whose answer is one JSON value.

        Raises:
            EndpointError: There is no such answer, or it tells of an error.
        """
        answer = await self.open(method, url, body, seconds)
        if answer.status >= 300:
            raise await self.refusal(answer, url, model)
        try:
            said = load(await answer.read(_MAX_BODY, seconds))
        finally:
            await answer.aclose()
        if said is None:
            raise self.faults.not_an_api()
        if is_error(said):
            raise self.faults.told(said, model=model)
        return said

    def _connected(self) -> Transport:
        if self._transport is None:
            # Imported at the first use: whoever only names a model needs no network.
            from lembas_core.endpoints.transport import Transport

            self._transport = Transport(
                self.faults,
                self._address.root,
                self._headers,
                connect=self._timeouts.connect,
                keep=self.keep,
            )
        return self._transport


def _headers(key: str | None, extra: Mapping[str, str], user: str) -> dict[str, str]:
    headers = dict(_ALWAYS)
    if user:
        headers["authorization"] = f"Basic {base64.b64encode(unquote(user).encode()).decode()}"
    if key and key.strip():
        headers["authorization"] = f"Bearer {key.strip()}"
    headers |= {name.strip().lower(): value.strip() for name, value in extra.items()}
    for name, value in headers.items():
        if problem := header_problem(name, value):
            raise ValueError(problem)
    return headers


def header_problem(name: str, value: str) -> str:
    """Why a header cannot be sent, without its value; "" when it can."""
    bare = name.strip().lower()
    if not _TOKEN.fullmatch(bare):
        return f"{name!r} is no name of a header, so it cannot be sent."
    if bare in _FRAMING:
        return f"The header {name!r} is made anew for each request and cannot be sent by hand."
    if not (value.isascii() and value.strip().isprintable()):
        what = "key" if bare == "authorization" else f"header {name!r}"
        return f"The {what} holds characters that cannot be sent."
    return ""


def _secrets(headers: Mapping[str, str]) -> list[str]:
    values = [value for name, value in headers.items() if name not in _ALWAYS]
    return [*values, *(value.partition(" ")[2] for value in values)]


def _dumped(body: Any) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:
        # Lone surrogates; what no JSON can hold raises again.
        return scrubbed(json.dumps(body, ensure_ascii=False)).encode()
