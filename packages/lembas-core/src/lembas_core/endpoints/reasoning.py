"""Telling a model's thinking from its answer where both come as one text. No I/O.

`<think>` and `<thinking>` tags may be cut anywhere; held back is only what may still become a tag. Tags in
code are text: within a fence, and within `backticks`. A closing tag that nothing opened (the chat template
did) makes what came before it a thought. White space beside a tag goes with the tag; no other character
is ever lost.
"""

from __future__ import annotations

import re
from typing import Final

from lembas_core.endpoints.values import ReasoningPart, RecastPart, TextPart

__all__ = ("ReasoningSplitter",)

_TAG: Final = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_TAGS: Final = ("<think>", "<thinking>", "</think>", "</thinking>")
_LONGEST: Final = max(map(len, _TAGS))
_FENCE: Final = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_HEAD: Final = 100
"""How much of a line is looked at to see whether it is a fence."""
_SPACE: Final = 1024
"""How much white space is held back at most."""


_Part = TextPart | ReasoningPart | RecastPart


class _Code:
    """Where in Markdown a text stands: within a fence, within backticks, or in prose."""

    __slots__ = ("_fence", "_head", "_last", "_ticks")

    def __init__(self) -> None:
        self._fence = ""
        self._head = ""
        self._last = ""
        self._ticks = 0

    def follow(self, text: str) -> None:
        """Take in more text."""
        self._last = text[-1:] or self._last
        if "`" in text or "~" in text or "`" in self._head or "~" in self._head:
            *lines, last = text.split("\n")
            for line in lines:
                self._grow(line)
                self._end_line()
            self._grow(last)
        elif "\n" in text:
            self._head, self._ticks = text[text.rindex("\n") + 1 :][:_HEAD], 0
        elif len(self._head) < _HEAD:
            self._head += text[: _HEAD - len(self._head)]

    @property
    def fenced(self) -> bool:
        """Within a fence, its opening line included."""
        return bool(self._fence or _FENCE.match(self._head))

    @property
    def quoted(self) -> bool:
        """After an odd number of backticks in this line, or right after one."""
        return self._ticks % 2 == 1 or self._last == "`"

    @property
    def line_is_blank(self) -> bool:
        """Nothing but white space in this line so far."""
        return not self._head.strip()

    def _grow(self, piece: str) -> None:
        if len(self._head) < _HEAD:
            self._head += piece[: _HEAD - len(self._head)]
        self._ticks += piece.count("`")

    def _end_line(self) -> None:
        match = _FENCE.match(self._head)
        if match and not self._fence:
            self._fence = match[1]
        elif match and match[1].startswith(self._fence) and not self._head[match.end() :].strip():
            self._fence = ""
        self._head, self._ticks = "", 0


class ReasoningSplitter:
    """Cuts a stream of text into thinking and answer."""

    __slots__ = (
        "_after_tag",
        "_code",
        "_held",
        "_inside",
        "_nested",
        "_said",
        "_sent",
        "_since",
        "_space",
        "_start",
        "_thought",
        "_unsent",
    )

    def __init__(self) -> None:
        self._code = _Code()
        self._held = ""  # may become a tag
        self._space = ""  # white space that goes with a tag, or with the text if none comes
        self._inside = False  # a thought
        self._start = True  # nothing but white space since the last tag, or since the start
        self._after_tag = False
        self._nested = 0  # opening tags within thoughts
        self._thought = False  # some reasoning came, here or in a field of its own
        self._said = False  # some answer came since
        self._sent = False  # and was given out by an earlier feed
        self._unsent: list[_Part] = []
        self._since = 0  # where in it the parts since the last thought begin

    def feed(self, text: str) -> list[_Part]:
        """The parts that `text` completes."""
        if not (self._held or self._inside or self._start or "<" in text):
            self._code.follow(text)
            self._said = self._sent = True
            return [TextPart(text)] if text else []
        self._split(self._held + text)
        return self._taken()

    def reasoned(self) -> None:
        """Note that the endpoint sent reasoning in a field of its own."""
        self._start, self._after_tag = True, not self._said
        self._thought, self._said, self._sent = True, False, False

    def finish(self) -> list[_Part]:
        """What was held back, now that nothing more comes."""
        held, self._held = self._held, ""
        match = _TAG.match(held)
        if match and self._is_tag(match, held[match.end() :]):
            self._turn(match)
            held = held[match.end() :]
        self._say(held)
        self._put(self._space)
        self._space = ""
        return self._taken()

    def _taken(self) -> list[_Part]:
        out, self._unsent, self._since = self._unsent, [], 0
        self._sent = self._said
        return out

    def _split(self, text: str) -> None:
        at = 0
        self._held = ""
        for match in _TAG.finditer(text):
            self._say(text[at : match.start()])
            at = match.start()
            after = text[match.end() : match.end() + 2]
            if self._undecided(after):
                self._held = text[at:]
                return
            if self._is_tag(match, after):
                self._turn(match)
                at = match.end()
        end = len(text) - _unfinished(text, at)
        self._say(text[at:end])
        self._held = text[end:]

    def _undecided(self, after: str) -> bool:
        """Whether what follows a tag decides what it is, and has not come yet."""
        if not self._inside:
            return False
        return after in ("", "\n") if self._code.fenced else self._code.quoted and not after

    def _is_tag(self, match: re.Match[str], after: str) -> bool:
        """Whether what looks like a tag is one, here."""
        closes = bool(match[1])
        if self._code.fenced:
            # A thinking budget that runs out ends a thought anywhere, by a tag on a line of its own.
            return self._inside and closes and self._code.line_is_blank and after.startswith("\n\n")
        if self._code.quoted:
            return self._inside and closes and not after.startswith("`")
        if self._inside:
            self._nested += not closes
            return closes
        return not closes or not self._thought or not self._said or self._nested > 0

    def _turn(self, match: re.Match[str]) -> None:
        """Go over from the answer to a thought, or back."""
        if match[1] and not self._inside:
            self._recast()
        self._inside = not match[1]
        self._start = self._after_tag = self._thought = True
        self._said = self._sent = False
        self._space = ""
        self._code = _Code()
        self._since = len(self._unsent)

    def _recast(self) -> None:
        """A closing tag that nothing opened: what was said since the last thought was one."""
        self._nested = max(0, self._nested - 1)
        said = "".join(part.text for part in self._unsent[self._since :] if isinstance(part, TextPart))
        del self._unsent[self._since :]
        if self._sent:
            self._unsent.append(RecastPart())
        if said:
            self._unsent.append(ReasoningPart(said))

    def _say(self, text: str) -> None:
        """Give `text`, but for white space that may stand beside a tag."""
        self._code.follow(text)
        if self._start:
            bare = text.lstrip()
            if not self._after_tag:
                self._space += text[: len(text) - len(bare)]
            if not bare and len(self._space) < _SPACE:
                return
            self._start, text = False, bare
        text, self._space = self._space + text, ""
        if self._inside:
            bare = text.rstrip()
            if len(text) - len(bare) < _SPACE:
                text, self._space = bare, text[len(bare) :]
        self._put(text)

    def _put(self, text: str) -> None:
        if text and self._inside:
            self._unsent.append(ReasoningPart(text))
        elif text:
            self._said = True
            self._unsent.append(TextPart(text))


def _unfinished(text: str, start: int) -> int:
    """How many characters at the end of `text` may still become a tag."""
    at = text.rfind("<", max(start, len(text) - _LONGEST + 1))
    tail = text[at:].lower() if at >= 0 else ""
    return len(tail) if tail and any(tag.startswith(tail) and tag != tail for tag in _TAGS) else 0
