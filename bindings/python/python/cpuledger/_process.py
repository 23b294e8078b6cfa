"""Processes with the names of psutil, answered from listings of the service.

One listing answers for all processes. A method is answered from one that is at most 20 ms old, so a loop over a thousand processes costs one or two
listings, not a thousand visits to /proc.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import threading
import time
from typing import Any, Collection, Iterator, NamedTuple, NoReturn

from cpuledger._cpuledger import Error, ListedRow
from cpuledger._cpuledger import listing as _listing

#: A method is answered from a listing that is at most this old.
MOST_AGE_NS = 20_000_000


class NoSuchProcess(Error):
    """There is no such process, or not any more."""

    def __init__(self, pid: int, name: str | None = None, msg: str | None = None) -> None:
        super().__init__(msg or f"there is no process {pid}")
        self.pid, self.name, self.msg = pid, name, msg or ""


class AccessDenied(Error):
    """The service does not show this to you."""

    def __init__(self, pid: int | None = None, name: str | None = None, msg: str | None = None) -> None:
        super().__init__(msg or f"the service does not show you process {pid}: docs/service.md says what each user sees")
        self.pid, self.name, self.msg = pid, name, msg or ""


class NotProvided(Error, AttributeError):
    """psutil has this, and cpuledger does not."""


class pcputimes(NamedTuple):
    """Seconds since the start. ``iowait`` is None where delay accounting is off."""

    user: float
    system: float
    children_user: float
    children_system: float
    iowait: float | None


class pmem(NamedTuple):
    """Bytes. None: not provided."""

    rss: int
    vms: int
    shared: int
    text: int | None
    lib: int | None
    data: int | None
    dirty: int | None


class pio(NamedTuple):
    """Bytes from and to devices. None: not provided."""

    read_count: int | None
    write_count: int | None
    read_bytes: int
    write_bytes: int
    read_chars: int | None
    write_chars: int | None


class pctxsw(NamedTuple):
    """Context switches of all threads, those that have ended included."""

    voluntary: int
    involuntary: int


class puids(NamedTuple):
    real: int
    effective: int
    saved: int


class pgids(NamedTuple):
    real: int
    effective: int
    saved: int


_STATUS = {
    "R": "running",
    "S": "sleeping",
    "D": "disk-sleep",
    "T": "stopped",
    "t": "tracing-stop",
    "Z": "zombie",
    "X": "dead",
    "x": "dead",
    "K": "wake-kill",
    "W": "waking",
    "I": "idle",
    "P": "parked",
}

#: What psutil has, and who has it here.
_ELSEWHERE = {
    "cmdline": "it reads no arguments: they are in /proc/PID/cmdline",
    "exe": "it reads no paths: /proc/PID/exe is a link",
    "cwd": "it reads no paths: /proc/PID/cwd is a link",
    "environ": "it reads no environment: that is in /proc/PID/environ",
    "terminal": "it has the number of the device: `tty_device` of cpuledger.processes()",
    "threads": "cpuledger.tasks() lists every task at once",
    "memory_full_info": "it reads no mappings: they are in /proc/PID/smaps_rollup",
    "memory_maps": "it reads no mappings: they are in /proc/PID/smaps",
    "open_files": "it reads no descriptors: they are in /proc/PID/fd",
    "num_fds": "it reads no descriptors: they are in /proc/PID/fd",
    "net_connections": "it reads no sockets",
    "connections": "it reads no sockets",
    "ionice": "it reads no priority of I/O",
    "rlimit": "it reads no limits: they are in /proc/PID/limits",
    "cpu_affinity": "os.sched_getaffinity(pid) has it",
    "send_signal": "it reads, and never signals: os.kill(pid, signal) does",
    "suspend": "it reads, and never signals: os.kill(pid, signal.SIGSTOP) does",
    "resume": "it reads, and never signals: os.kill(pid, signal.SIGCONT) does",
    "terminate": "it reads, and never signals: os.kill(pid, signal.SIGTERM) does",
    "kill": "it reads, and never signals: os.kill(pid, signal.SIGKILL) does",
    "wait": "it reads, and never waits: a pidfd (os.pidfd_open) becomes readable at the end",
}

#: The fields that each attribute needs.
_FIELDS: dict[str, tuple[str, ...]] = {
    "pid": (),
    "ppid": ("ppid",),
    "name": ("comm",),
    "status": ("state",),
    "create_time": ("start_time_ns",),
    "username": ("uid",),
    "uids": ("uid", "euid", "suid"),
    "gids": ("gid", "egid", "sgid"),
    "num_threads": ("threads",),
    "nice": ("nice",),
    "cpu_num": ("processor",),
    "cpu_times": ("user_ns", "system_ns", "children_user_ns", "children_system_ns", "block_io_delay_ns"),
    "cpu_percent": ("runtime_ns",),
    "memory_info": ("rss_bytes", "vsize_bytes", "shared_bytes"),
    "memory_percent": ("rss_bytes", "vsize_bytes", "shared_bytes"),
    "num_ctx_switches": ("voluntary_switches", "involuntary_switches"),
    "io_counters": ("read_bytes", "write_bytes"),
}


class _Listings:
    """The last listing, with the fields that were needed so far."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fields: frozenset[str] = frozenset()
        self._has: frozenset[str] = frozenset()
        self._rows: dict[int, ListedRow] = {}
        self._read_ns = 0
        self._shows_all = False

    def _list(self) -> None:
        table = _listing(False, sorted(self._fields), None)
        self._rows = {row.pid: row for row in table}
        self._read_ns, self._has = table.start_ns or 0, self._fields
        self._shows_all = bool(table.shows_all)

    def all(self, fields: Collection[str]) -> tuple[dict[int, ListedRow], int]:
        """A new listing, and when it was read."""
        with self._lock:
            self._fields = self._fields.union(fields)
            self._list()
            return self._rows, self._read_ns

    def row(
        self, pid: int, start_ns: int | None, fields: Collection[str], most_age_ns: int = MOST_AGE_NS
    ) -> tuple[ListedRow, int]:
        """The row of a process, and when it was read."""
        with self._lock:
            self._fields = self._fields.union(fields)
            is_new = False
            if time.monotonic_ns() - self._read_ns > most_age_ns or not self._has.issuperset(fields):
                self._list()
                is_new = True
            row = self._rows.get(pid)
            if not is_new and (row is None or not _exists(pid)):
                self._list()
                row = self._rows.get(pid)
            shows_all = self._shows_all
            read_ns = self._read_ns
        if row is None:
            if not shows_all and _exists(pid):
                raise AccessDenied(pid)
            raise NoSuchProcess(pid)
        if start_ns is not None and row.start_time_ns != start_ns:
            raise NoSuchProcess(pid, msg=f"process {pid} has ended, and its pid is that of another one")
        return row, read_ns


_listings = _Listings()


class _Held(threading.local):
    """The rows that this thread's answers come from meanwhile: by ``id`` of a process, with the time when each was read."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[ListedRow, int]] = {}


_held = _Held()


class _Remembered:
    """What all objects of ``process_iter`` for one process share."""

    before: tuple[int, int] | None = None
    """When its CPU time was read last, and how much it was."""
    created: float | None = None


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _not_provided(name: str) -> NotProvided:
    return NotProvided(f"cpuledger has no `{name}` of a process; {_ELSEWHERE[name]}, and psutil has it")


def _boot_s() -> float:
    """When CLOCK_BOOTTIME was 0, by the calendar."""
    return (time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_BOOTTIME)) / 1e9


class Process:
    """A process, with psutil's names and meanings for what a listing has.

    It is identified by its pid and its start: where the pid is that of another process meanwhile, methods raise ``NoSuchProcess``. What psutil has, and
    cpuledger does not, raises ``NotProvided``, with a sentence that says where it is.
    """

    def __init__(self, pid: int | None = None) -> None:
        pid = os.getpid() if pid is None else pid
        if not isinstance(pid, int):
            raise TypeError(f"a pid is an integer, not {pid!r}")
        if pid < 0:
            raise ValueError(f"a pid is positive, not {pid}")
        self._pid = pid
        self._start_ns: int | None = None
        self._remembered = _Remembered()
        self._start_ns = self._read(("comm", "start_time_ns"))[0].start_time_ns

    @classmethod
    def _of(cls, row: ListedRow, remembered: _Remembered | None = None) -> Process:
        """Of a row of a listing."""
        self = cls.__new__(cls)
        self._pid, self._start_ns = row.pid, row.start_time_ns
        self._remembered = remembered or _Remembered()
        return self

    def _read(self, fields: Collection[str]) -> tuple[ListedRow, int]:
        return _held.rows.get(id(self)) or _listings.row(self._pid, self._start_ns, fields)

    def _values(self, attribute: str) -> list[Any]:
        """The values of the fields that an attribute needs. What is not known is denied."""
        row, _ = self._read(_FIELDS[attribute])
        return [getattr(row, field) for field in _FIELDS[attribute]]

    def _known(self, attribute: str) -> list[Any]:
        values = self._values(attribute)
        if None in values:
            raise AccessDenied(self._pid, msg=f"`{attribute}` of process {self._pid} is not known: its files may not be read")
        return values

    @property
    def pid(self) -> int:
        """Its pid."""
        return self._pid

    def ppid(self) -> int:
        """Pid of its parent."""
        return int(self._known("ppid")[0])

    def name(self) -> str:
        """Its name. One that the kernel has cut at 15 characters is completed from the arguments, as psutil does."""
        comm = str(self._known("name")[0])
        if len(comm) < 15:
            return comm
        try:
            with open(f"/proc/{self._pid}/cmdline", "rb") as file:
                first = os.path.basename(file.read(4096).split(b"\0")[0].decode(errors="replace"))
        except OSError:
            return comm
        return first if first.startswith(comm) else comm

    def status(self) -> str:
        """Its state at the time of the listing: ``running``, ``sleeping``, ``disk-sleep``, ``stopped``, ``zombie``, ..."""
        letter = self._known("status")[0]
        return _STATUS.get(letter, "?")

    def create_time(self) -> float:
        """When it was started, in seconds since 1970."""
        created = self._remembered.created
        if created is None:
            computed = _boot_s() + self._known("create_time")[0] / 1e9
            # Of several threads, the first counts.
            created = vars(self._remembered).setdefault("created", computed)
        return created

    def username(self) -> str:
        """Name of its real user; the number where there is none."""
        uid = self._known("username")[0]
        try:
            return pwd.getpwuid(uid).pw_name
        except KeyError:
            return str(uid)

    def uids(self) -> puids:
        """Its users."""
        return puids(*self._known("uids"))

    def gids(self) -> pgids:
        """Its groups."""
        return pgids(*self._known("gids"))

    def num_threads(self) -> int:
        """Number of its threads."""
        return int(self._known("num_threads")[0])

    def nice(self) -> int:
        """Its nice value."""
        return int(self._known("nice")[0])

    def cpu_num(self) -> int:
        """The CPU that it ran on last."""
        return int(self._known("cpu_num")[0])

    def cpu_times(self) -> pcputimes:
        """CPU time since its start."""
        user, system, children_user, children_system, iowait = self._values("cpu_times")
        if None in (user, system, children_user, children_system):
            self._known("cpu_times")
        iowait = None if iowait is None else iowait / 1e9
        return pcputimes(user / 1e9, system / 1e9, children_user / 1e9, children_system / 1e9, iowait)

    def cpu_percent(self, interval: float | None = None) -> float:
        """CPU time since the last call, in percent of the time that has passed: over 100 with several threads.

        With ``interval``, that is waited for between two readings. Else the first call returns 0.0. The CPU time is exact to the nanosecond.
        """
        before = self._remembered.before
        if interval is not None:
            if interval < 0:
                raise ValueError(f"`interval` is positive, not {interval}")
            before = self._used()
            time.sleep(interval)
        now = self._used()
        if now is None or before is not None and now[0] <= before[0]:
            return 0.0
        self._remembered.before = now
        if before is None:
            return 0.0
        return round(100.0 * (now[1] - before[1]) / (now[0] - before[0]), 1)

    def _used(self) -> tuple[int, int] | None:
        """When its CPU time was read, and how much it was."""
        row, read_ns = self._read(_FIELDS["cpu_percent"])
        if row.runtime_ns is None:
            self._known("cpu_percent")
            return None
        return read_ns, row.runtime_ns

    def memory_info(self) -> pmem:
        """Its memory."""
        rss, vms, shared = self._known("memory_info")
        return pmem(rss, vms, shared, None, None, None, None)

    def memory_percent(self, memtype: str = "rss") -> float:
        """A member of ``memory_info`` in percent of the memory of the machine."""
        if memtype not in ("rss", "vms", "shared"):
            raise ValueError(f"memory_info has rss, vms and shared here, not {memtype!r}")
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return 100.0 * float(getattr(self.memory_info(), memtype)) / total

    def num_ctx_switches(self) -> pctxsw:
        """Context switches of all of its threads, those that have ended included. psutil has those of the first one only."""
        return pctxsw(*self._known("num_ctx_switches"))

    def io_counters(self) -> pio:
        """Bytes that it has read from devices and written to them."""
        read, write = self._known("io_counters")
        return pio(None, None, read, write, None, None)

    def parent(self) -> Process | None:
        """Its parent; None: it has none, or none that you are shown."""
        ppid = self.ppid()
        if ppid == 0:
            return None
        try:
            return Process(ppid)
        except (NoSuchProcess, AccessDenied):
            return None

    def parents(self) -> list[Process]:
        """Its parents up to the first process."""
        parents = []
        one = self.parent()
        while one is not None and one not in parents:
            parents.append(one)
            one = one.parent()
        return parents

    def children(self, recursive: bool = False) -> list[Process]:
        """Its children or, with ``recursive``, all that descends from it, as the kernel has parents now."""
        rows, _ = _listings.all(("ppid", "comm", "start_time_ns"))
        own = rows.get(self._pid)
        if own is None or own.start_time_ns != self._start_ns:
            raise NoSuchProcess(self._pid)
        by_parent: dict[int, list[ListedRow]] = {}
        for row in rows.values():
            if row.ppid is not None:
                by_parent.setdefault(row.ppid, []).append(row)
        found = list(by_parent.pop(self._pid, ()))
        if recursive:
            # Each is met once, and what it has is met behind it.
            for row in found:
                found.extend(by_parent.pop(row.pid, ()))
        return [Process._of(row) for row in found]

    def is_running(self) -> bool:
        """Whether it exists still, and is no other process with its pid. A zombie exists."""
        try:
            _listings.row(self._pid, self._start_ns, ("start_time_ns",), most_age_ns=0)
        except NoSuchProcess:
            return False
        return True

    @contextlib.contextmanager
    def oneshot(self) -> Iterator[None]:
        """In this block, all answers come from one listing."""
        rows = _held.rows
        if id(self) in rows:
            yield
            return
        fields = {field for fields in _FIELDS.values() for field in fields}
        rows[id(self)] = _listings.row(self._pid, self._start_ns, fields)
        try:
            yield
        finally:
            del rows[id(self)]

    def as_dict(self, attrs: Collection[str] | None = None, ad_value: Any = None) -> dict[str, Any]:
        """These attributes, or all that are provided. What is denied is ``ad_value``."""
        if isinstance(attrs, str):
            raise TypeError("`attrs` is a list of names")
        with self.oneshot():
            return {name: self._attribute(name, ad_value) for name in attrs or _FIELDS}

    def _attribute(self, name: str, ad_value: Any) -> Any:
        if name in _ELSEWHERE:
            raise _not_provided(name)
        if name not in _FIELDS:
            raise ValueError(f"`{name}` is no attribute for as_dict: {', '.join(_FIELDS)} are")
        try:
            return self._pid if name == "pid" else getattr(self, name)()
        except AccessDenied:
            return ad_value

    def __getattr__(self, name: str) -> NoReturn:
        if name in _ELSEWHERE:
            raise _not_provided(name)
        raise AttributeError(f"a process has no attribute `{name}`")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Process):
            return NotImplemented
        return (self._pid, self._start_ns) == (other._pid, other._start_ns)

    def __hash__(self) -> int:
        return hash((self._pid, self._start_ns))

    def __repr__(self) -> str:
        return f"cpuledger.Process(pid={self._pid})"

    info: dict[str, Any]
    """With ``attrs`` of ``process_iter``: these attributes."""


#: The processes that process_iter has handed out, by identity: so cpu_percent() knows the call before.
_known: dict[tuple[int, int | None], Process] = {}
_known_lock = threading.Lock()


def process_iter(attrs: Collection[str] | None = None, ad_value: Any = None) -> Iterator[Process]:
    """Every process that you are shown, by pid. All are of one listing.

    With ``attrs``, each has ``info``, a dictionary of these attributes (of all with an empty list); what is denied is ``ad_value``. Without,
    a process is the same object in each call. Either way, ``cpu_percent()`` knows the call before.
    """
    if isinstance(attrs, str):
        raise TypeError("`attrs` is a list of names")
    wanted = None if attrs is None else list(attrs or _FIELDS)
    fields = {"ppid", "comm", "start_time_ns"}
    for name in wanted or ():
        fields.update(_FIELDS.get(name, ()))
    rows, read_ns = _listings.all(fields)
    found = []
    with _known_lock:
        living = {}
        # 0 is no process: it has what you are not shown.
        for pid in sorted(pid for pid in rows if pid > 0):
            row = rows[pid]
            process = _known.get((pid, row.start_time_ns)) or Process._of(row)
            living[pid, row.start_time_ns] = process
            found.append((process, row))
        _known.clear()
        _known.update(living)
    return _informed(found, read_ns, wanted, ad_value)


def _informed(
    found: list[tuple[Process, ListedRow]], read_ns: int, wanted: list[str] | None, ad_value: Any
) -> Iterator[Process]:
    for process, row in found:
        if wanted is not None:
            # Another thread may ask for other attributes: each call has objects of its own.
            process = Process._of(row, process._remembered)
            held = _held.rows
            held[id(process)] = row, read_ns
            try:
                process.info = {name: process._attribute(name, ad_value) for name in wanted}
            finally:
                del held[id(process)]
        yield process


def pid_exists(pid: int) -> bool:
    """Whether there is such a process, whether or not you are shown it."""
    return pid >= 0 and (pid == 0 or _exists(pid))


