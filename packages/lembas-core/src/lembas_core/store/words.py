"""What is a word: how text becomes search terms, what a query asks for, and where in a text that stands.

Scripts that are written without spaces (Han, kana, Thai, Lao, Khmer, Burmese; also Hangul, whose words end in
particles) become overlapping terms of two characters, and each character one: any of them can be found.
Everything else is words between gaps, folded (no case, no diacritics); the database's own Porter stemmer then
joins "walks" and "walking".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice
from typing import Final

from lembas_core.frozen import frozen

__all__ = (
    "GAP",
    "UNSPACED",
    "Piece",
    "aligned",
    "count",
    "fold",
    "holds",
    "pairs_of",
    "pieces",
    "spans",
    "spread",
)

# As the inside of a regular expression's brackets, which Python and PostgreSQL read alike.
UNSPACED: Final = (
    r"\u0E00-\u0EFF\u1000-\u109F\u1100-\u11FF\u1780-\u17FF\u3005\u3007\u3041-\u30FA\u30FC-\u30FF"
    r"\u31F0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF\U00020000-\U0003FFFF"
)
GAP: Final = (
    r"\u0001-\u002F\u003A-\u0040\u005B-\u0060\u007B-\u00BF"
    r"\u2000-\u206F\u2190-\u2BFF\u3000-\u3004\u3008-\u303F"
)

_PART: Final = re.compile(r'"([^"]*)"|([^\s"]+)')
_MOST_SPANS: Final = 200
_SHORTEST_PREFIX: Final = 3  # a shorter one is in too many terms to be found quickly


# Compiled when first needed: large classes of characters take milliseconds, and few programs search.
@cache
def _run() -> re.Pattern[str]:
    return re.compile(f"[{UNSPACED}]+")


@cache
def _word() -> re.Pattern[str]:
    return re.compile(f"[^{GAP}{UNSPACED}]+")


@cache
def _gap() -> re.Pattern[str]:
    return re.compile(f"[{GAP}]+")


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
    """`text` as a word index takes it: folded, unspaced scripts as single characters and pairs of them."""
    folded = fold(text)
    return folded if folded.isascii() else _run().sub(_pairs, folded)


def _pairs(match: re.Match[str]) -> str:
    run = match[0]
    return f" {' '.join((*run, *pairs_of(run)))} "


def pairs_of(run: str) -> tuple[str, ...]:
    """The terms that are looked for to find a run: its pairs, or the one character that it is."""
    return tuple(run[i : i + 2] for i in range(max(1, len(run) - 1)))


@frozen
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
    def terms(self) -> tuple[str, ...]:
        """What stands in the index of whatever holds this."""
        return pairs_of(self.words[0]) if self.unspaced else self.words


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
    for run in _run().finditer(folded):
        yield from _spaced(folded[start : run.start()])
        yield Piece((run[0],), unspaced=True)
        start = run.end()
    yield from _spaced(folded[start:])


def _spaced(text: str) -> Iterator[Piece]:
    words = tuple(word for word in _word().findall(text) if any(map(str.isalnum, word)))
    if words:
        yield Piece(words)


def holds(folded: str, piece: Piece) -> bool:
    """Whether a folded text holds `piece`; words in a row must stand there in just these forms."""
    if piece.unspaced:
        return piece.words[0] in folded
    if len(piece.words) == 1:
        return next(_word_spans(folded, piece), None) is not None
    return _row(piece.words).search(folded) is not None


def count(folded: str, piece: Piece) -> int:
    """About how often `piece` stands in a folded text that holds it: quick, for ranking."""
    first = piece.words[0]
    return folded.count(first if piece.unspaced else f" {_root(_stem(first))}") or 1


def spans(folded: str, piece: Piece) -> list[tuple[int, int]]:
    """Where `piece` stands in a folded text, in order; words in a row are one span."""
    if piece.unspaced:
        found = _plain_spans(folded, piece.words[0])
    elif len(piece.words) == 1:
        found = _word_spans(folded, piece)
    else:
        found = (match.span() for match in _row(piece.words).finditer(folded))
    return [*islice(found, _MOST_SPANS)]


@lru_cache
def _row(words: tuple[str, ...]) -> re.Pattern[str]:
    inner = f"[{GAP}]+".join(map(re.escape, words))
    return re.compile(f"(?<![^{GAP}{UNSPACED}]){inner}(?![^{GAP}{UNSPACED}])")


def _plain_spans(text: str, run: str) -> Iterator[tuple[int, int]]:
    at = text.find(run)
    while at >= 0:
        yield at, at + len(run)
        at = text.find(run, at + len(run))


def _word_spans(text: str, piece: Piece) -> Iterator[tuple[int, int]]:
    word = piece.words[0]
    stem = _stem(word)
    for start, _ in _plain_spans(text, _root(stem)):
        inside = start and text[start - 1].isalnum() and _word().match(text, start - 1)
        token = None if inside else _word().match(text, start)
        if token and _is_form(token[0], word, stem, prefix=piece.prefix):
            yield token.span()


def _is_form(token: str, word: str, stem: str, *, prefix: bool) -> bool:
    return token == word or (prefix and token.startswith(word)) or _stem(token) == stem


def _root(stem: str) -> str:
    """What all forms begin with: "happy" and "happiness" part at the last letter of the stem."""
    return stem[:-1] if len(stem) > 3 else stem


_VOWEL: Final = re.compile("[aeiouy]")
_DOUBLE: Final = re.compile(r"([^aeioulsz])\1$")


@lru_cache(4096)
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
