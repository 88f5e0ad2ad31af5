"""HTTP/1.1, the bytes alone: a request out, its response in, which llhttp parses. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Final

from httptools import HttpParserError, HttpResponseParser

__all__ = ("Response", "encode")

_MOST_BARE: Final = 100 << 10
_REQUEST: Final = re.compile(r"[A-Z]+ [!-~]+")
_FIELD: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+: [^\x00-\x1f]*")


def encode(method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes | None) -> bytes:
    """A request; one with a body tells its length.

    Raises:
        ValueError: It would be another request than the one that is meant.
    """
    first = f"{method} {target}"
    fields = [f"{name}: {value}" for name, value in headers]
    if not (_REQUEST.fullmatch(first) and all(map(_FIELD.fullmatch, fields))):
        raise ValueError("This cannot be sent as the head of a request.")
    length = [] if body is None else [f"content-length: {len(body)}"]
    return "\r\n".join([f"{first} HTTP/1.1", *fields, *length, "", ""]).encode("ascii") + (body or b"")


class Response:
    """What answers one request; responses of status 1xx before it are passed over.

    Attributes:
        status: The HTTP status; 0 until the head has come.
        headers: Header fields, names in lower case.
        done: The end of the body has come.
        keeps: The connection may carry another request.
        fault: "" or how this is no HTTP; what came of the body before that is still given.
    """

    def __init__(self) -> None:
        self.status: int = 0
        self.headers: dict[str, str] = {}
        self.done: bool = False
        self.keeps: bool = False
        self.fault: str = ""
        self._pieces: list[bytes] = []
        self._bare = 0  # bytes since the last of the body: heads and trailers
        told = SimpleNamespace(
            on_message_begin=self._begin,
            on_header=self._field,
            on_headers_complete=self._head,
            on_body=self._pieces.append,
            on_message_complete=self._end,
        )
        self._parser = HttpResponseParser(told)
        # As other clients do: of two framings chunks count, lines may lack a carriage return, a chunk's size
        # may end in blanks, and a 1xx is followed by a response even if it tells of closing.
        self._parser.set_dangerous_leniencies(
            lenient_chunked_length=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
            lenient_keep_alive=True,
        )

    def feed(self, data: bytes) -> bytes:
        """The part of the body that `data` holds, joined."""
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self.keeps = False
            self.fault = str(error.__context__ or error)
        body = b"".join(self._pieces)
        self._pieces.clear()
        self._bare = 0 if body else self._bare + len(data)
        if self._bare > _MOST_BARE:
            self.fault = self.fault or "a head has no end"
        return body

    def close(self) -> bool:
        """The server has closed its side: whether the response is whole with that."""
        if self.status and self.headers.keys().isdisjoint(("content-length", "transfer-encoding")):
            self.done = True
        return self.done

    def _begin(self) -> None:
        if self.done:
            raise ValueError("a response that nobody asked for")
        self.headers.clear()

    def _field(self, name: bytes, value: bytes) -> None:
        if not self.status:  # else a trailer
            self.headers[name.decode("ascii").lower()] = value.strip(b" \t").decode("latin-1")

    def _head(self) -> None:
        status = self._parser.get_status_code()
        if status < 100 or status == 101:
            raise ValueError(f"the status {status} is no answer")
        if status >= 200:
            if self.headers.get("transfer-encoding", "chunked").lower() != "chunked":
                raise ValueError("its transfer coding was not asked for")
            self.status = status

    def _end(self) -> None:
        if self.status:
            self.done, self.keeps = True, self._parser.should_keep_alive()
