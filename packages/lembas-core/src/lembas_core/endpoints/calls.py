"""Putting streamed tool calls together. No I/O.

Endpoints disagree on how a call's pieces are told apart. In order of trust: an id that was seen before, the
index, then the order in which pieces come. A piece with a name begins a call unless it repeats what is open.
"""

from __future__ import annotations

import json
import os
import re
import string
from collections.abc import Iterable
from typing import Any, Final, cast

from lembas_core.arguments import parse_arguments
from lembas_core.endpoints.values import ToolCall
from lembas_core.endpoints.wire import load, scrubbed

__all__ = ("MAX_CALLS", "CallAssembler", "checked")

MAX_CALLS: Final = 64
"""The most calls of one round; the rest is dropped and the model is told."""

_MAX_NAME: Final = 256
_MAX_ARGUMENTS: Final = 4 << 20
_MAX_CHECKS: Final = 64
_ID: Final = re.compile(r"[\x21-\x7e]{1,128}")
_NUL: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
_ALPHABET: Final = string.ascii_letters + string.digits


class _Draft:
    """A call that is being written."""

    __slots__ = ("checks", "id", "index", "name", "pieces", "problem", "size")

    def __init__(self, call_id: str, index: int | None) -> None:
        self.id = call_id
        self.index = index
        self.name = ""
        self.pieces: list[str] = []
        self.size = 0
        self.checks = 0
        self.problem = ""

    def add(self, piece: str) -> None:
        """More of the arguments."""
        self.size += len(piece)
        if self.size <= _MAX_ARGUMENTS:
            self.pieces.append(piece)
        else:
            self.problem = f"The arguments are longer than {_MAX_ARGUMENTS} characters."

    @property
    def arguments(self) -> str:
        """The arguments so far."""
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    @property
    def is_whole(self) -> bool:
        """Whether the arguments so far are a JSON object."""
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}") or self.checks == _MAX_CHECKS:
            return False
        self.checks += 1
        return isinstance(load(self.arguments.encode("utf-8", "replace")), dict)


class CallAssembler:
    """Collects the pieces of the tool calls of one reply.

    Args:
        taken: Ids that earlier calls of the same request have.
    """

    __slots__ = ("_by_id", "_by_index", "_drafts", "_dropped", "_last", "_taken")

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._drafts: list[_Draft] = []
        self._by_id: dict[str, _Draft] = {}
        self._by_index: dict[int, _Draft] = {}
        self._last: _Draft | None = None
        self._dropped = 0

    def __len__(self) -> int:
        return len(self._drafts)

    @property
    def names(self) -> tuple[str, ...]:
        """The names known so far."""
        return tuple(draft.name for draft in self._drafts if draft.name)

    def feed(self, piece: object) -> None:
        """Take one entry of a `tool_calls` list, whatever its shape."""
        if not isinstance(piece, dict):
            return
        entry = cast("dict[str, Any]", piece)
        function = entry.get("function")
        said = cast("dict[str, Any]", function) if isinstance(function, dict) else entry
        name, arguments = said.get("name"), said.get("arguments")
        index = entry.get("index", said.get("index"))
        draft = self._draft(
            entry_id if isinstance(entry_id := entry.get("id"), str) else "",
            index if type(index) is int else None,
            _named(name) if isinstance(name, str) else "",
            text := _as_text(arguments),
        )
        if draft is not None:
            self._last = draft
            if text:
                draft.add(text)

    def finish(self) -> tuple[ToolCall, ...]:
        """The calls, in the order they began, ids unique."""
        calls: list[ToolCall] = []
        for draft in self._drafts:
            sent = _ID.fullmatch(draft.id) and draft.id not in self._taken
            call_id = draft.id if sent else self._new_id()
            self._taken.add(call_id)
            calls.append(checked(call_id, draft.name, draft.arguments, draft.problem))
        if self._dropped:
            last = calls[-1]
            problem = (
                f"More than {MAX_CALLS} calls in one turn: this one and {self._dropped} more were not run."
            )
            calls[-1] = ToolCall(last.id, last.name, last.arguments, problem)
        return tuple(calls)

    def _new_id(self) -> str:
        # Nine letters and digits: the one form that every endpoint accepts (Mistral insists on it).
        while (made := "".join([_ALPHABET[n % len(_ALPHABET)] for n in os.urandom(9)])) in self._taken:
            pass
        return made

    def _draft(self, call_id: str, index: int | None, name: str, text: str) -> _Draft | None:
        """The call a piece belongs to, made if it begins one; None for a piece that repeats a call."""
        known = self._by_id.get(call_id) if call_id else None
        if known is not None:
            return self._continued(known, call_id, index, name, text)
        at = self._by_index.get(index) if index is not None else None
        if at is None and not call_id and (index is None or not name):
            at = self._last
        if at is None or (name and call_id and at.id):
            return self._begin(call_id, index, name)
        return self._continued(at, call_id, index, name, text)

    def _continued(
        self, draft: _Draft, call_id: str, index: int | None, name: str, text: str
    ) -> _Draft | None:
        """`draft`, or a new call where the piece can be no continuation of it."""
        if len(text) == draft.size > 0 and (call_id or index is not None) and text == draft.arguments:
            elsewhere = name and index is not None and index != draft.index
            if not elsewhere and draft.is_whole:
                return None
        if name and draft.name and self._begins(draft, call_id, index, name):
            return self._begin(call_id, index, name)
        draft.id = draft.id or call_id
        if name and name != draft.name:
            draft.name = name if name.startswith(draft.name) else draft.name + name
        return draft

    def _begins(self, draft: _Draft, call_id: str, index: int | None, name: str) -> bool:
        """Whether a piece with a name begins a call of its own, although id or index point to `draft`."""
        elsewhere = index is not None and draft.index is not None and index != draft.index
        if name == draft.name:
            return draft.is_whole or (elsewhere and not draft.pieces)
        return bool(elsewhere or draft.pieces or (index is None and not call_id))

    def _begin(self, call_id: str, index: int | None, name: str) -> _Draft | None:
        if len(self._drafts) == MAX_CALLS:
            self._dropped += 1
            return None
        draft = _Draft(call_id, index)
        draft.name = name
        self._drafts.append(draft)
        if call_id:
            self._by_id[call_id] = draft
        if index is not None:
            self._by_index[index] = draft
        return draft


def _named(name: str) -> str:
    """A name without characters that would show as something else than they are."""
    return "".join(c if c.isprintable() else "\ufffd" for c in name[:_MAX_NAME].strip())


def _as_text(arguments: object) -> str:
    """A piece of arguments as JSON text: some endpoints send objects where strings are due."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "[]"


def checked(call_id: str, name: str, arguments: str, problem: str = "") -> ToolCall:
    """The call, with a sentence for the model when its arguments are no usable JSON object."""
    text = _clean(arguments)
    if problem or not name:
        return ToolCall(call_id, name, text, problem or "The call names no tool.")
    if text in ("", "null"):
        return ToolCall(call_id, name)
    inner = _unpacked(text)
    value, problem = parse_arguments(inner)
    if problem:
        return ToolCall(call_id, name, text, problem)
    if "\\u" in inner:
        inner = scrubbed(json.dumps(value, ensure_ascii=False))
    return ToolCall(call_id, name, inner)


def _clean(text: str) -> str:
    return _NUL.sub(r"\1\\ufffd", scrubbed(text).strip())


def _unpacked(text: str) -> str:
    """Arguments that were packed into a JSON string, as some endpoints do; others as they are."""
    if not text.startswith('"'):
        return text
    try:
        return _clean(json.loads(text))
    except ValueError:
        return text
