"""Recognising that a request was longer than the context window, in the words of many servers. No I/O."""

from __future__ import annotations

import re
from typing import Final

__all__ = ("asked_in", "speaks_of_it", "window_in")

_N: Final = r"(\d[\d,_.']{0,18}\d|\d)"  # bounded, or a long row of digits costs the square of its length

# Compiled by `re` at the first use and kept there: most processes never meet an overflow.
_SIGNS: Final = (
    r"context_length_exceeded|exceed_context_size|model_max_prompt_tokens_exceeded|tokens_limit_reached"
    r"|context_window_exceeded|ContextWindowExceeded|prompt_too_long|string_above_max_length"
    r"|context (?:length|window|size) exceed"
    r"|(?:maximum|max|model'?s?|available|the|configured) (?:allowed )?(?:context|prompt) "
    r"(?:length|window|size|limit)[^.]{0,80}\bis\b[^.]{0,40}\d"
    r"|exceed\w*[^.]{0,80}\b(?:context|token limit|maximum number of tokens|limit of \d+)"
    r"|(?:longer|larger|greater) than[^.]{0,60}\b(?:context|maximum model length|max_seq_len)"
    r"|too (?:long|large)[^.]{0,80}\b(?:context|model\b|tokens)"
    r"|(?:prompt|input|request|conversation|messages?) (?:is|are) too (?:long|large)\b"
    r"|too many (?:input )?tokens"
    r"|reduce (?:the length of|your|the) (?:the |your )?(?:messages?|prompt|input|context)"
    r"|request too large for"
    r"|(?:input|output) tokens must be reduced"
    r"|`?inputs`?(?: tokens)?[^.]{0,60}must (?:be <=|have less than)"
    r"|range of input length should be"
    r"|context (?:the )?overflows|context shift is disabled"
    r"|loaded with context length of only"
    r"|maximum prompt length is"
    r"|current length is \d+ while limit is"
)

# What a server says of its window. A rate limit in tokens a minute ("Limit 6000, Requested 9000") is none.
_WINDOW: Final = "|".join(
    pattern.replace("N", _N)
    for pattern in (
        r"(?:context (?:length|window|size)|maximum (?:prompt|model) length|max_seq_len)"
        r"(?: \(?| is | of | of only | is only |: | limit: )+N",
        r"context size \(N tokens",
        r"N maximum context length",
        r"maximum number of tokens allowed \(N\)",
        r"> N maximum",
        r"context limit: [\d +]+ > N",
        r"model token limit: N",
        r"limit (?:of|is) N",
        r"max size: N tokens",
        r"must (?:be <=|have less than) N",
        r"cannot exceed N",
        r"input length should be \[\d+, ?N\]",
        r"n_ctx\W{1,3}N",
    )
)
_ASKED: Final = "|".join(
    pattern.replace("N", _N)
    for pattern in (
        r"resulted in N",
        r"requested:? (?:about )?N",
        r"request (?:has|contains) N",
        r"contains N tokens",
        r"token count(?: of)? \(?N\)? exceeds",
        r"(?:input|request|length|prompt) \(?N(?: tokens)?\)? (?:is|exceeds)",
        r"(?:too long:|received|given:|total length|\(length|prompt length|current length is) N",
        r"n_prompt_tokens\W{1,3}N",
    )
)


def speaks_of_it(said: str) -> bool:
    """Whether `said` tells of a request that is too long for the model."""
    return re.search(_SIGNS, said, re.IGNORECASE) is not None


def window_in(said: str) -> int | None:
    """The context window in tokens that `said` names."""
    return _number(_WINDOW, said)


def asked_in(said: str) -> int | None:
    """The length of the request in tokens that `said` names."""
    return _number(_ASKED, said)


def _number(pattern: str, said: str) -> int | None:
    match = re.search(pattern, said, re.IGNORECASE)
    found = next((group for group in match.groups() if group), "") if match else ""
    digits = re.sub(r"\D", "", found)
    return int(digits) if digits and len(digits) < 10 and int(digits) > 0 else None
