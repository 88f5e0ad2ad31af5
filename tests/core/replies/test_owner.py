"""Telling whether the process that runs a reply is gone."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

from lembas_core.replies.owner import STALE_AFTER, is_gone, owner_token

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOST, PID, STARTED = owner_token().split(":")


def test_this_process_lives() -> None:
    assert owner_token() == owner_token()
    assert not is_gone(owner_token(), NOW, NOW)


def test_a_process_that_ended_on_this_machine_is_gone_at_once() -> None:
    assert is_gone(f"{HOST}:{2**22 + 1}:5", NOW, NOW)


def test_another_process_with_the_same_number_is_not_the_owner() -> None:
    assert int(PID) == os.getpid()
    assert is_gone(f"{HOST}:{PID}:{STARTED}1", NOW, NOW)


def test_a_process_on_another_machine_is_gone_when_it_has_been_silent_for_long() -> None:
    assert not is_gone("elsewhere:1:1", NOW - STALE_AFTER, NOW)
    assert is_gone("elsewhere:1:1", NOW - STALE_AFTER - timedelta(seconds=1), NOW)


def test_a_process_that_lives_and_is_silent_for_long_is_taken_for_gone() -> None:
    assert is_gone(owner_token(), NOW - timedelta(minutes=1), NOW)


def test_a_row_that_names_nobody_is_nobodys_when_it_is_old_only() -> None:
    assert is_gone(None, None, NOW)
    assert not is_gone(None, NOW, NOW)
    assert not is_gone("nonsense", NOW, NOW)
