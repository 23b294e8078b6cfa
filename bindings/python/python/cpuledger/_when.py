"""Instants of a recording."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Union

Moment = Union[datetime, timedelta, int, float, str]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _exactly(span: timedelta) -> int:
    return ((span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds) * 1_000


def nanoseconds(moment: Moment | None) -> tuple[int, bool] | None:
    """Nanoseconds since 1970 and False, or before the end of the recording and True; None: no limit."""
    if moment is None:
        return None
    if isinstance(moment, timedelta):
        ns, is_before_end = _exactly(moment), True
    elif isinstance(moment, (int, float)):
        ns, is_before_end = int(moment * 1_000_000_000), False
    else:
        if isinstance(moment, str):
            # Python 3.9 does not know the Z.
            moment = datetime.fromisoformat(moment[:-1] + "+00:00" if moment.endswith("Z") else moment)
        ns, is_before_end = _exactly(moment.astimezone(timezone.utc) - _EPOCH), False
    if not 0 <= ns < 1 << 64:
        raise ValueError(f"no recording has the time {moment!r}: an instant is after 1970, a span is positive")
    return ns, is_before_end
