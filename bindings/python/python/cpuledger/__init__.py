"""Exact books of a Linux machine's CPU time.

``intervals()`` follows the service, ``read()`` reads a recording, ``processes()`` lists what exists, ``measure()`` says what your own code has
started, and ``process_iter()`` and ``Process`` have the names of psutil. No privilege is needed: the service, ``cpuledger serve``, keeps the books.

>>> import cpuledger
>>> for interval in cpuledger.intervals(1.0):
...     assert interval.attributed_ns + interval.idle_ns + interval.unattributed_ns == interval.capacity_ns
...     print(max(interval.processes, key=lambda row: row.cpu_ns or 0))
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Iterable, Sequence

from cpuledger._cpuledger import (
    BlockedRow,
    Error,
    ExitedRow,
    Interval,
    Intervals,
    ListedRow,
    ProcessRow,
    Recording,
    RecordingError,
    Row,
    ServiceError,
    Table,
    TaskRow,
    __version__,
)
from cpuledger._cpuledger import join as _join
from cpuledger._cpuledger import listing as _listing
from cpuledger._measure import Running, Used, measure
from cpuledger._process import (
    AccessDenied,
    NoSuchProcess,
    NotProvided,
    Process,
    pid_exists,
    process_iter,
)
from cpuledger._when import Moment, nanoseconds

if TYPE_CHECKING:
    from typing import Literal

    Path = str | os.PathLike[str]

__all__ = [
    "AccessDenied",
    "BlockedRow",
    "Error",
    "ExitedRow",
    "Interval",
    "Intervals",
    "ListedRow",
    "NoSuchProcess",
    "NotProvided",
    "Process",
    "ProcessRow",
    "Recording",
    "RecordingError",
    "Row",
    "Running",
    "ServiceError",
    "Table",
    "TaskRow",
    "Used",
    "__version__",
    "intervals",
    "measure",
    "pid_exists",
    "process_iter",
    "processes",
    "read",
    "table",
    "tasks",
]


def intervals(length: float = 1.0, *, socket: Path | None = None) -> Intervals:
    """Intervals of the service, one after another, without end.

    ``length`` is in seconds. The first interval may have begun up to one interval of the service ago. Each begins where the one before has
    ended. The service has room for its last two intervals at least: what a slow program has missed is one interval without books (``is_gap``),
    as is the time in which the service was away. A wait releases the lock of the interpreter, and Ctrl-C ends it.

    Raises ``ServiceError`` where there is no service.
    """
    return Intervals(length, socket=None if socket is None else os.fspath(socket))


def read(
    path: Path,
    *,
    since: Moment | None = None,
    until: Moment | None = None,
    length: float = 0.0,
) -> Recording:
    """The intervals of a recording: a directory of ``cpuledger record``, or one file of it.

    ``since`` and ``until`` are a ``datetime`` (without a zone: local time), seconds since 1970, a text of ISO 8601, or a ``timedelta`` before the end of
    the recording. ``length`` in seconds merges neighbours; 0 leaves intervals as they were recorded. What was not recorded is an interval without books.

    Raises ``RecordingError`` where there is none that can be read.
    """
    if not length >= 0:
        raise ValueError(f"`length` is a number of seconds, not {length}")
    return Recording(os.fspath(path), nanoseconds(since), nanoseconds(until), int(length * 1e9))


def processes(fields: Sequence[str] | None = None, *, socket: Path | None = None) -> Table[ListedRow]:
    """What exists now: a row for each process, with the totals of its threads.

    Cumulative fields count since the start of the process. ``fields`` limits what is read, which is faster. ``start_ns`` and ``end_ns`` of the table say
    when it was read; ``shows_all`` says whether it has all that /proc would show you.
    """
    return _listing(False, _names(fields), None if socket is None else os.fspath(socket))


def tasks(fields: Sequence[str] | None = None, *, socket: Path | None = None) -> Table[ListedRow]:
    """The same with a row for each task. Of 100,000 tasks that takes 36 MB."""
    return _listing(True, _names(fields), None if socket is None else os.fspath(socket))


def table(
    intervals: Iterable[Interval],
    name: Literal["processes", "tasks", "exited", "blocked"],
) -> Table[Row]:
    """The rows of several intervals as one table, with the columns ``start_ns`` and ``end_ns`` before the others.

    >>> import cpuledger, polars
    >>> hour = cpuledger.table(cpuledger.read("/var/log/cpuledger"), "processes")
    >>> polars.DataFrame(hour.select("start_ns", "comm", "cpu_ns"))
    """
    return _join(intervals, name)


def _names(fields: Sequence[str] | None) -> list[str] | None:
    if isinstance(fields, str):
        raise TypeError("`fields` is a list of names")
    return None if fields is None else list(fields)
