"""What can go wrong, as one tree, and what each class means to HTTP and to a shell.

    LembasError
      EndpointError         a model's server did not do what it should; `partial` holds what had arrived
        Unreachable         no connection, a dropped one, or a time-out
        Unauthorised        the key is missing, wrong or not allowed
        RateLimited         too many requests; `retry_after` in seconds, where the server said it
        ContextExceeded     the request is longer than the model's context window
        ModelMissing        the endpoint does not know the model
        BadResponse         the answer is not what the protocol promises; `reason` says how
        ContentFiltered     the endpoint withheld the answer
      TurnTooLarge          the new turn alone does not fit the model's context window
      Invalid               what a person asked for cannot be done as asked
      StoreError            the database could not be read or written
        Conflict            somebody else changed the same thing first
        NewerDatabase       the database was written by a newer LLeMbas
        SecretMissing       stored secrets cannot be read without the secret key
      NotFound              no such chat, message, model, connection or tool
      Forbidden             this person may not do that

`str(error)` is one sentence for a person. Wrong arguments stay `ValueError` and `TypeError`.
"""

from __future__ import annotations

from typing import Final, Literal

__all__ = (
    "EXIT_CODES",
    "HTTP_STATUSES",
    "BadResponse",
    "Conflict",
    "ContentFiltered",
    "ContextExceeded",
    "EndpointError",
    "Forbidden",
    "Invalid",
    "LembasError",
    "ModelMissing",
    "NewerDatabase",
    "NotFound",
    "RateLimited",
    "SecretMissing",
    "StoreError",
    "TurnTooLarge",
    "Unauthorised",
    "Unreachable",
    "exit_code",
    "http_status",
)

BadReason = Literal[
    "bad_request", "empty_reply", "not_an_api", "not_found", "protocol", "redirect", "upstream"
]


class LembasError(Exception):
    """The root of everything this library raises on purpose."""


class EndpointError(LembasError):
    """A model's server did not do what it should.

    Attributes:
        endpoint: The base URL that was asked, without credentials.
        partial: The text that had arrived before the fault; "" when nothing had.
    """

    def __init__(self, sentence: str, *, endpoint: str = "", partial: str = "") -> None:
        super().__init__(sentence)
        self.endpoint = endpoint
        self.partial = partial


class Unreachable(EndpointError):
    """No connection, a dropped one, or a time-out (`timed_out`)."""

    def __init__(
        self, sentence: str, *, endpoint: str = "", partial: str = "", timed_out: bool = False
    ) -> None:
        super().__init__(sentence, endpoint=endpoint, partial=partial)
        self.timed_out = timed_out


class Unauthorised(EndpointError):
    """The key is missing, wrong or not allowed to use this model."""


class RateLimited(EndpointError):
    """Too many requests; `retry_after` is the wait in seconds, None when the server did not say."""

    def __init__(
        self, sentence: str, *, endpoint: str = "", partial: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(sentence, endpoint=endpoint, partial=partial)
        self.retry_after = retry_after


class ContextExceeded(EndpointError):
    """The request is longer than the context window; `window` and `asked` are tokens where known."""

    def __init__(
        self,
        sentence: str,
        *,
        endpoint: str = "",
        partial: str = "",
        window: int | None = None,
        asked: int | None = None,
    ) -> None:
        super().__init__(sentence, endpoint=endpoint, partial=partial)
        self.window = window
        self.asked = asked


class ModelMissing(EndpointError):
    """The endpoint does not know the model."""


class BadResponse(EndpointError):
    """The answer is not what the protocol promises; `reason` is one word for how."""

    def __init__(
        self,
        sentence: str,
        *,
        endpoint: str = "",
        partial: str = "",
        reason: BadReason = "protocol",
        status: int | None = None,
    ) -> None:
        super().__init__(sentence, endpoint=endpoint, partial=partial)
        self.reason: BadReason = reason
        self.status = status


class ContentFiltered(EndpointError):
    """The endpoint withheld the answer."""


class TurnTooLarge(LembasError):
    """The new turn alone does not fit the model's context window."""


class Invalid(LembasError):
    """What a person asked for cannot be done as asked: an empty turn, an unknown setting."""


class StoreError(LembasError):
    """The database could not be read or written."""


class Conflict(StoreError):
    """Somebody else changed the same thing first."""


class NewerDatabase(StoreError):
    """The database was written by a newer LLeMbas and is left untouched."""


class SecretMissing(StoreError):
    """Stored secrets cannot be read without the secret key they were written with."""


class NotFound(LembasError):
    """No such chat, message, model, connection, setting or tool."""


class Forbidden(LembasError):
    """This person may not do that."""


# The nearest class in the tree decides.
HTTP_STATUSES: Final[dict[type[LembasError], int]] = {
    LembasError: 500,
    EndpointError: 502,
    Unreachable: 504,
    Unauthorised: 502,
    RateLimited: 429,
    ContextExceeded: 413,
    ModelMissing: 404,
    ContentFiltered: 422,
    TurnTooLarge: 413,
    Invalid: 422,
    Conflict: 409,
    NotFound: 404,
    Forbidden: 403,
}

EXIT_CODES: Final[dict[type[LembasError], int]] = {
    LembasError: 1,
    Unreachable: 3,
    Unauthorised: 4,
    RateLimited: 5,
    ContextExceeded: 6,
    ModelMissing: 7,
    ContentFiltered: 9,
    TurnTooLarge: 6,
    Invalid: 2,
    NotFound: 7,
    Forbidden: 4,
}


def http_status(error: BaseException) -> int:
    """The HTTP status that tells of `error`; 500 for what is not ours."""
    return _nearest(HTTP_STATUSES, error, 500)


def exit_code(error: BaseException) -> int:
    """The exit code that tells of `error`; 1 for what is not ours."""
    return _nearest(EXIT_CODES, error, 1)


def _nearest(table: dict[type[LembasError], int], error: BaseException, otherwise: int) -> int:
    for cls in type(error).__mro__:
        if issubclass(cls, LembasError) and cls in table:
            return table[cls]
    return otherwise
