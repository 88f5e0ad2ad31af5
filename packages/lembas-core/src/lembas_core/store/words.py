"""What is a word: how text becomes search terms, what a query asks for, and where in a text that stands.

Scripts that are written without spaces (Han, kana, Thai, Lao, Khmer, Burmese; also Hangul, whose words end in
particles) become overlapping terms of two characters, so that any two characters in a row can be found.
Everything else is words between gaps, folded (no case, no diacritics); the database's own Porter stemmer then
joins "walks" and "walking".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

__all__ = ("GAP", "UNSPACED", "Piece", "aligned", "fold", "pieces", "spans", "spread")

# As the inside of a regular expression's brackets, which Python and PostgreSQL read alike.
UNSPACED: Final = (
    r"\u0E00-\u0EFF\u1000-\u109F\u1100-\u11FF\u1780-\u17FF\u3005\u3007\u3041-\u30FA\u30FC-\u30FF"
    r"\u31F0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF\U00020000-\U0003FFFF"
)
GAP: Final = (
    r"\u0001-\u002F\u003A-\u0040\u005B-\u0060\u007B-\u00BF"
    r"\u2000-\u206F\u2190-\u2BFF\u3000-\u3004\u3008-\u303F"
)

_RUN: Final = re.compile(f"[{UNSPACED}]+")
_WORD: Final = re.compile(f"[^{GAP}{UNSPACED}]+")
_GAPS: Final = re.compile(f"[{GAP}]+")
_PART: Final = re.compile(r'"([^"]*)"|([^\s"]+)')
_SHORTEST_PREFIX: Final = 3  # a shorter one is in too many terms to be found quickly


class _Folding(dict[int, str]):
    """From a character to itself without case, diacritics and compatibility forms."""

    def __missing__(self, code: int) -> str:
        plain = (c for c in unicodedata.normalize("NFKD", chr(code)) if not 0x300 <= ord(c) <= 0x36F)
        self[code] = folded = unicodedata.normalize("NFC", "".join(plain)).lower()
        return folded


class _Aligning(dict[int, str]):
    """The same, for characters that stay one character; the others stay as they are."""

    def __missing__(self, code: int) -> str:
        folded = _FOLDING[code]
        self[code] = aligned = folded if len(folded) == 1 else chr(code)
        return aligned


_FOLDING: Final = _Folding()
_ALIGNING: Final = _Aligning()


def fold(text: str) -> str:
    """`text` without case, diacritics and compatibility forms."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text).translate(_FOLDING)


def aligned(text: str) -> str:
    """Like `fold`, each character at its place: a span of the one is a span of the other."""
    return text.lower() if text.isascii() else text.translate(_ALIGNING)


def spread(text: str) -> str:
    """`text` as a word index takes it: folded, unspaced scripts as overlapping pairs between spaces.

    The last character of a run stands alone too, so that every character begins a term.
    """
    folded = fold(text)
    return folded if folded.isascii() else _RUN.sub(_pairs, folded)


def _pairs(match: re.Match[str]) -> str:
    run = match[0]
    return f" {' '.join(run[i : i + 2] for i in range(len(run)))} "


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing that a hit must hold: words in a row, or a run of an unspaced script.

    Attributes:
        words: The folded words, at least one; a run is one word.
        unspaced: Whether it is a run of an unspaced script.
        prefix: Whether the last word is still being typed, so that longer words count too.
    """

    words: tuple[str, ...]
    unspaced: bool = False
    prefix: bool = False

    @property
    def pairs(self) -> tuple[str, ...]:
        """The two-character terms of a run; a single character as it is."""
        run = self.words[0]
        return tuple(run[i : i + 2] for i in range(max(1, len(run) - 1)))


def pieces(query: str) -> tuple[Piece, ...]:
    """What `query` asks for: words, `"words in a row"`, the last one perhaps not finished."""
    found = tuple(piece for part in _PART.finditer(query) for piece in _pieces_of(part[1] or part[2] or ""))
    if not found or query[-1:].isspace() or query.endswith('"'):
        return found
    *before, last = found
    typed = last.words[-1]
    # A stemmed beginning is too short: "running" begins "run", which begins "runtime".
    prefix = not (last.unspaced or len(typed) < _SHORTEST_PREFIX or typed.endswith(("s", "ed", "ing")))
    return (*before, Piece(last.words, last.unspaced, prefix))


def _pieces_of(part: str) -> Iterator[Piece]:
    folded = fold(part)
    start = 0
    for run in _RUN.finditer(folded):
        yield from _spaced(folded[start : run.start()])
        yield Piece((run[0],), unspaced=True)
        start = run.end()
    yield from _spaced(folded[start:])


def _spaced(text: str) -> Iterator[Piece]:
    words = tuple(word for word in _WORD.findall(text) if any(map(str.isalnum, word)))
    if words:
        yield Piece(words)


def spans(folded: str, piece: Piece, *, most: int | None = None) -> list[tuple[int, int]]:
    """Where `piece` stands in a folded text, in order; for words in a row that is the whole row.

    Args:
        folded: What `fold` or `aligned` made of the text.
        piece: What is looked for.
        most: How many places are looked at, None for all.
    """
    if piece.unspaced:
        return [*islice(_plain_spans(folded, piece.words[0]), most)]
    if len(piece.words) == 1:
        return [*_word_spans(folded, piece.words[0], prefix=piece.prefix, most=most)]
    return [*_row_spans(folded, piece, most)]


def _plain_spans(text: str, run: str) -> Iterator[tuple[int, int]]:
    at = text.find(run)
    while at >= 0:
        yield at, at + len(run)
        at = text.find(run, at + len(run))


def _word_spans(
    text: str, word: str, *, prefix: bool = False, most: int | None = None
) -> Iterator[tuple[int, int]]:
    stem = _stem(word)
    root = stem[:-1] if len(stem) > 3 else stem  # "happy" and "happiness" part at the last letter
    for start, _ in islice(_plain_spans(text, root), most):
        if start and _WORD.match(text, start - 1):
            continue
        token = _WORD.match(text, start)
        if token and (_stem(token[0]) == stem or (prefix and token[0].startswith(word))):
            yield token.span()


def _row_spans(text: str, piece: Piece, most: int | None) -> Iterator[tuple[int, int]]:
    first, *rest = piece.words
    stems = [_stem(word) for word in rest]
    for start, end in _word_spans(text, first, most=most):
        for stem in stems:
            gap = _GAPS.match(text, end)
            token = _WORD.match(text, gap.end()) if gap else None
            if token is None or _stem(token[0]) != stem:
                break
            end = token.end()
        else:
            yield start, end


_VOWEL: Final = re.compile("[aeiouy]")
_DOUBLE: Final = re.compile(r"([^aeioulsz])\1$")


def _stem(word: str) -> str:
    """The first steps of Porter's stemmer: enough to see that "walks" is a form of "walking".

    The index was made by the database's whole stemmer; this one only finds again, in a text, what that found.
    """
    if len(word) < 4 or not word.isascii():
        return word
    for ending, instead in (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")):
        if word.endswith(ending):
            word = word.removesuffix(ending) + instead
            break
    word = _without_tense(word)
    if word.endswith("y") and _VOWEL.search(word, 0, len(word) - 1):
        word = f"{word[:-1]}i"
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def _without_tense(word: str) -> str:
    for ending in ("ed", "ing"):
        bare = word.removesuffix(ending)
        if bare == word or not _VOWEL.search(bare) or word.endswith("eed"):
            continue
        return bare[:-1] if _DOUBLE.search(bare) else bare
    return word
