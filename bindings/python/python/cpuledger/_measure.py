"""What your own code has started."""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from cpuledger._cpuledger import Measuring

if TYPE_CHECKING:
    Path = str | os.PathLike[str]


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
        self._measuring: Measuring | None = None

    def __enter__(self) -> measure:
        self._measuring = Measuring(self._socket)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        measuring, self._measuring = self._measuring, None
        if measuring is None:
            return
        try:
            figures = measuring.end()
        except Exception:
            # What the block has raised counts.
            if error is None:
                raise
            return
        for name, value in figures.items():
            if name in ("by_command", "by_ancestry"):
                value = {comm: Used(*used) for comm, used in value.items()}
            elif name == "running":
                value = [Running(*one) for one in value]
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name in measure.__annotations__:
            raise AttributeError(f"`{name}` is there when the measurement has ended: read it behind the with block")
        raise AttributeError(f"a measurement has no attribute `{name}`")

    def __repr__(self) -> str:
        if "cpu_ns" not in self.__dict__:
            return "<measure: it has not ended>"
        return f"<measure: {self.cpu_ns / 1e9:.3f} s of CPU time of {self.processes} processes>"
