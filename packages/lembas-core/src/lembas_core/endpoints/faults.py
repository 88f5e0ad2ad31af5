"""What went wrong at an endpoint, as a typed error with a sentence a person can act on. No I/O.

Nothing that an endpoint says is trusted: its message is cut, stripped of markup, and rid of the key, which
some endpoints repeat.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from lembas_core.endpoints import overflow
from lembas_core.endpoints.messages import facts_of, message_of, plain, status_in
from lembas_core.endpoints.waits import retry_after
from lembas_core.endpoints.wire import load, scrubbed
from lembas_core.errors import (
    BadResponse,
    ContentFiltered,
    ContextExceeded,
    EndpointError,
    ModelMissing,
    RateLimited,
    Unauthorised,
    Unreachable,
)

__all__ = ("Faults",)

# Patterns are compiled when something went wrong: a request that succeeds needs none of them.
_MODEL_MISSING: Final = (
    r"(?i)model_not_found|not a valid model|invalid model|unknown model|unsupported model|no such model"
    r"|\bmodels?\b[^.]{0,200}?\b(?:not found|(?:does not|doesn't|not) exist|is not available)"
    r"|\bnot found\b[^.]{0,40}\bmodel\b|no model (?:named|called)"
)
_FILTERED: Final = (
    r"(?i)content_filter|content_policy|content management policy|ResponsibleAIPolicyViolation"
    r"|prompt_blocked|data_inspection_failed|moderation_blocked|flagged (?:by|as|for)"
)
_NO_QUOTA: Final = (
    r"(?i)insufficient[_ ](?:quota|balance|credits?|funds)|exceeded your current quota|billing_not_active"
)
_SECRET: Final = r"\b(?:Bearer +|sk-|pk-|gsk_|xai-|key-|AIza)[A-Za-z0-9][\w.\-]{11,}"
_MARKUP: Final = r"<[^>]*>|[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+"
_LONGEST_MESSAGE: Final = 400
_LOOKED_AT: Final = 4096
_FACTS: Final = 16 << 10


class Faults:
    """Makes the errors of one endpoint.

    Args:
        where: The endpoint's URL without credentials, as its errors name it.
        secrets: What must never stand in a sentence: the key and the values of extra headers.
        keyed: Whether a key is sent.
    """

    def __init__(self, where: str, secrets: Iterable[str] = (), *, keyed: bool = True) -> None:
        self.where = where
        self._keyed = keyed
        self._secrets = sorted((s for s in secrets if len(s) > 3), key=len, reverse=True)

    def clean(self, message: str) -> str:
        """`message` as one short line without markup and secrets."""
        # Cut twice, so that what the first cut leaves of a key is gone with the second.
        text = scrubbed(message[: 2 * _LOOKED_AT])
        for secret in self._secrets:
            text = text.replace(secret, "…")
        text = " ".join(re.sub(_SECRET, "…", re.sub(_MARKUP, " ", text[:_LOOKED_AT])).split())
        return text if len(text) <= _LONGEST_MESSAGE else text[:_LONGEST_MESSAGE] + "…"

    def status(
        self, status: int, headers: Mapping[str, str], body: bytes, *, model: str = "", path: str = ""
    ) -> EndpointError:
        """The error that an HTTP answer other than success tells of."""
        if status < 400:
            return self._redirect(status, headers.get("location", ""))
        said = load(body)
        message = self.clean(plain(body) if said is None else message_of(said))
        facts = plain(body) if said is None else facts_of(said)[:_FACTS]
        return self._classified(status, message, facts, retry_after(headers, facts), model, path)

    def told(self, said: Any, *, model: str = "") -> EndpointError:
        """The error that an error object within a stream tells of."""
        message = self.clean(message_of(said)) or "an error without words"
        facts = facts_of(said)[:_FACTS]
        return self._classified(status_in(said), message, facts, retry_after({}, facts), model, "")

    def _classified(
        self, status: int, message: str, facts: str, wait: float | None, model: str, path: str
    ) -> EndpointError:
        says = f" It says: {message}" if message else ""
        if overflow.speaks_of_it(facts) or status == 413:
            return self.too_long(says, facts)
        if status < 500 and re.search(_FILTERED, facts):
            return ContentFiltered(f"{self.where} withheld the answer.{says}", endpoint=self.where)
        if status in (401, 402, 403, 407) or re.search(_NO_QUOTA, facts):
            return self._unauthorised(status, says, facts)
        if status in (429, 529) or (status == 503 and wait is not None):
            return self._rate_limited(says, wait)
        if status < 500 and model and re.search(_MODEL_MISSING, facts):
            return ModelMissing(f"{self.where} does not know the model {model!r}.{says}", endpoint=self.where)
        if status >= 500 or not status:
            return self._server_error(status, message)
        if status in (404, 405, 410):
            return self._not_found(status, says, path)
        return self.bad(f"refused the request ({status}).{says}", "bad_request", status)

    def bad(self, predicate: str, reason: Any, status: int | None = None) -> BadResponse:
        """A `BadResponse` whose sentence begins with the endpoint and goes on with `predicate`."""
        return BadResponse(f"{self.where} {predicate}", endpoint=self.where, reason=reason, status=status)

    def too_long(self, says: str, facts: str) -> ContextExceeded:
        """The request does not fit."""
        window, asked = overflow.window_in(facts), overflow.asked_in(facts)
        size = f" ({asked:,} of at most {window:,} tokens)" if asked and window else ""
        return ContextExceeded(
            f"The conversation is too long for the model at {self.where}{size}: shorten or compact it.{says}",
            endpoint=self.where,
            window=window,
            asked=asked,
        )

    def unreachable(self, why: str, *, timed_out: bool = False) -> Unreachable:
        """No connection could be made."""
        detail = self.clean(why)
        return Unreachable(
            f"Cannot reach {self.where}: is the server running, and is the URL right?"
            + (f" ({detail})" if detail else ""),
            endpoint=self.where,
            timed_out=timed_out,
        )

    def dropped(self, when: str = "before the reply was complete") -> Unreachable:
        """The connection ended too early."""
        return Unreachable(f"{self.where} closed the connection {when}. Try again.", endpoint=self.where)

    def silent(self, seconds: float) -> Unreachable:
        """Nothing came for too long."""
        return Unreachable(
            f"{self.where} sent nothing for {seconds:g} seconds: it may be busy, or still loading the model.",
            endpoint=self.where,
            timed_out=True,
        )

    def empty(self) -> BadResponse:
        """A reply without one word."""
        return self.bad("answered with an empty reply. Try again, or another model.", "empty_reply")

    def not_an_api(self) -> BadResponse:
        """An answer that is none of a model's server: a login page, a captive portal."""
        return self.bad(
            f"answered with something that is no model API. {self._check_url()}.",
            "not_an_api",
        )

    def garbled(self, how: str) -> BadResponse:
        """An answer that breaks the protocol."""
        return self.bad(f"sent an answer that cannot be read: {self.clean(how)}.", "protocol")

    def withheld(self) -> ContentFiltered:
        """A reply that a filter kept back whole."""
        return ContentFiltered(f"{self.where} withheld the answer (content filter).", endpoint=self.where)

    def _unauthorised(self, status: int, says: str, facts: str) -> Unauthorised:
        if status == 402 or re.search(_NO_QUOTA, facts):
            predicate = "refuses: the account behind the key has nothing left to spend."
        elif self._keyed:
            predicate = f"refused the key ({status}): check the key of this connection."
        else:
            predicate = f"wants a key ({status}): give this connection one."
        return Unauthorised(f"{self.where} {predicate}{says}", endpoint=self.where)

    def _rate_limited(self, says: str, wait: float | None) -> RateLimited:
        when = "later" if wait is None else f"in {wait:.0f} seconds"
        return RateLimited(
            f"{self.where} has too many requests: try again {when}.{says}",
            endpoint=self.where,
            retry_after=wait,
        )

    def _not_found(self, status: int, says: str, path: str) -> BadResponse:
        todo = f"{self._check_url()}{', or name the model by hand' if path.endswith('/models') else ''}."
        return self.bad(f"has no {path or 'such address'} ({status}). {todo}{says}", "not_found", status)

    def _check_url(self) -> str:
        missing = not self.where.rstrip("/").endswith("/v1")
        return f"Check the URL{' (it usually ends in /v1)' if missing else ''}"

    def _server_error(self, status: int, message: str) -> BadResponse:
        if not status:
            return self.bad(f"reports an error: {message}", "upstream")
        from http import HTTPStatus

        phrase = next((known.phrase for known in HTTPStatus if known == status), "server error")
        says = f": {message}" if message else "."
        return self.bad(f"failed ({status} {phrase}){says}", "upstream", status)

    def _redirect(self, status: int, location: str) -> BadResponse:
        """Redirects are never followed: the key would go along, and a POST would become a GET."""
        try:
            target = urlsplit(self.clean(location))
            to = f" to {target.scheme}://{target.hostname}{target.path}" if target.hostname else ""
        except ValueError:
            to = ""
        return self.bad(
            f"redirects{to} ({status}): set the URL of this connection to the right one.", "redirect", status
        )
