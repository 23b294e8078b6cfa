"""What your own code has started."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from cpuledger._cpuledger import Measuring

if TYPE_CHECKING:
    Path = str | os.PathLike[str]


#: Held for an instant, when a measurement begins or ends.
_turn = threading.Lock()


class Used(NamedTuple):
    """What processes used."""

    processes: int
    """How many they are."""
    cpu_ns: int
    """CPU time, stolen time included."""
    waiting_ns: int
    """They were runnable, and waited for a CPU."""
    longest_ns: int
    """The longest life of one."""


class Running(NamedTuple):
    """A process that still ran at the end."""

    pid: int
    comm: str
    cpu_ns: int
    """Its CPU time in the measurement."""


class measure:
    """Measures what descends from this process, as ``cpuledger run`` does for a command.

    >>> with cpuledger.measure() as m:
    ...     subprocess.run(["make", "-j4"])
    >>> m.cpu_ns, m.by_command["cc1"].cpu_ns

    Counted is each process whose chain of parents, living or dead, leads to this one: waited for or not, whatever it did with its session, and those
    that the process already had. Not counted is this process itself: ``own_cpu_ns`` has that. The figures are there when the block has ended.
    """

    start_ns: int
    """The first cut, CLOCK_MONOTONIC."""
    end_ns: int
    """The last one."""
    cpu_ns: int
    """CPU time between the two: each nanosecond that a descendant held a CPU."""
    user_ns: int | None
    """The part in user mode. With ``system_ns`` and ``stolen_ns`` it adds up to ``cpu_ns``. None: not known."""
    system_ns: int | None
    """The part in the kernel."""
    stolen_ns: int
    """The part that a hypervisor or an interrupt took."""
    waiting_ns: int
    """They were runnable, and waited for a CPU."""
    own_cpu_ns: int
    """CPU time of this process itself."""
    processes: int
    """How many descendants had a CPU."""
    unattributed_ns: int
    """CPU time of the machine that is attributed to nobody: some of it may be theirs."""
    without_books_ns: int
    """For how long there were no books: what ran then is in no figure."""
    missed_switches: int | None
    """Switches that the kernel does not show. None: not known."""
    hidden_cpu_ns: int | None
    """CPU time of processes that the kernel hides. None: not known."""
    by_command: dict[str | None, Used]
    """By the name of the last exec, most CPU time first. After 10,000 names the rest is under None."""
    by_ancestry: dict[str | None, Used]
    """By the names from the first descendant down, as ``sh > make > cc1``."""
    running: list[Running]
    """What still runs."""

    def __init__(self, *, socket: Path | None = None) -> None:
        self._socket = None if socket is None else os.fspath(socket)
        self._is_begun = False
        self._measuring: Measuring | None = None
        self._figures: dict[str, Any] | None = None

    def __enter__(self) -> measure:
        with _turn:
            if self._is_begun:
                raise RuntimeError("this measurement has begun already; call measure() once for each with block")
            self._is_begun, self._figures = True, None
        try:
            self._measuring = Measuring(self._socket)
        except BaseException:
            self._is_begun = False
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with _turn:
            measuring, self._measuring = self._measuring, None
        if measuring is None:
            return
        try:
            figures = measuring.end()
            for name in ("by_command", "by_ancestry"):
                figures[name] = {comm: Used(*used) for comm, used in figures[name].items()}
            figures["running"] = [Running(*one) for one in figures["running"]]
            # All at once: another thread may read them.
            self._figures = figures
        except Exception:
            # What the block has raised counts.
            if error is None:
                raise
        finally:
            self._is_begun = False

    def __getattr__(self, name: str) -> Any:
        if name not in measure.__annotations__:
            raise AttributeError(f"a measurement has no attribute `{name}`")
        if self._figures is None:
            raise AttributeError(f"`{name}` is there when the measurement has ended: read it behind the with block")
        return self._figures[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(self._figures or ())]

    def __repr__(self) -> str:
        if self._figures is None:
            return "<measure: it has not ended>"
        return f"<measure: {self.cpu_ns / 1e9:.3f} s of CPU time of {self.processes} processes>"
