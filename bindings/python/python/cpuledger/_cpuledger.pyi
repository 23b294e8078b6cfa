"""Types of the extension module. `tests/test_types.py` compares them with it."""

from types import TracebackType
from typing import Any, Generic, Iterable, Iterator, Literal, TypeVar, final, overload

_R = TypeVar("_R", bound="Row", covariant=True)

__version__: str

class Error(Exception):
    """What this package raises: one sentence, with the remedy."""

class ServiceError(Error):
    """There is no service, or it does not give what is wanted."""

class RecordingError(Error):
    """A recording cannot be read."""

class Row:
    """A row of a table. Its attributes are the columns of the table; what is not known is None."""

    def to_dict(self) -> dict[str, Any]:
        """The row as a dictionary, as it is in JSON."""

@final
class Table(Generic[_R]):
    """Rows of one interval, of several, or of a listing: a sequence of row objects, and a stream of Arrow."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int, /) -> _R: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[_R]: ...
    def __iter__(self) -> Iterator[_R]: ...
    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
    @property
    def start_ns(self) -> int | None:
        """When the first interval began, or the listing was begun: CLOCK_MONOTONIC. None: there is no interval."""
    @property
    def end_ns(self) -> int | None:
        """When the last interval ended, or the listing was complete."""
    @property
    def shows_all(self) -> bool | None:
        """Of a listing: whether it has every process that /proc shows this user. None: it is none."""
    def select(self, *names: str) -> Table[_R]:
        """The same rows with these columns only, in this order."""
    def column(self, name: str) -> list[Any]:
        """The values of a column; what is not known is None."""
    def to_dicts(self) -> list[dict[str, Any]]:
        """Each row as a dictionary with the columns of this table."""
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule interface."""
    def __arrow_c_schema__(self) -> object:
        """The schema alone."""

@final
class Interval:
    """What lies between two cuts: `attributed_ns + idle_ns + unattributed_ns == capacity_ns`."""

    @property
    def source(self) -> str:
        """Where it comes from: `service`, or `replay` for a recording."""
    @property
    def boot_id(self) -> str | None:
        """Identifier of the boot; None: not known."""
    @property
    def start_ns(self) -> int:
        """When it began: CLOCK_MONOTONIC."""
    @property
    def end_ns(self) -> int:
        """When it ended."""
    @property
    def length_ns(self) -> int:
        """Its length: `end_ns - start_ns`."""
    @property
    def end_realtime_ns(self) -> int | None:
        """When it ended by the calendar: nanoseconds since 1970. None: not known."""
    @property
    def online_cpus(self) -> int:
        """CPUs that the kernel had online at its end."""
    @property
    def capacity_ns(self) -> int:
        """Time of all online CPUs."""
    @property
    def attributed_ns(self) -> int:
        """The sum of `cpu_ns` over all processes."""
    @property
    def idle_ns(self) -> int | None:
        """Time of the idle tasks. None: not known."""
    @property
    def unattributed_ns(self) -> int | None:
        """Time that could not be attributed. None: not known."""
    @property
    def unattributed_by(self) -> dict[str, int] | None:
        """The same by reason. None: not known."""
    @property
    def imbalance_ns(self) -> int | None:
        """`capacity_ns` less all that was booked: 0. None: not known."""
    @property
    def is_gap(self) -> bool:
        """Whether there are no books of this time."""
    @property
    def processes(self) -> Table[ProcessRow]:
        """The processes that ran, or waited for a CPU."""
    @property
    def tasks(self) -> Table[TaskRow]:
        """Their tasks, likewise."""
    @property
    def exited(self) -> Table[ExitedRow] | None:
        """The tasks that died; None: the source does not see them."""
    @property
    def blocked(self) -> Table[BlockedRow] | None:
        """The tasks that were blocked in all of it; None: not known."""
    @property
    def blocked_tasks(self) -> int | None:
        """How many were blocked in all of it. None: not known."""
    @property
    def unidentified_exits(self) -> int | None:
        """Tasks that died and have no row. None: not known."""
    @property
    def missed_switches(self) -> int | None:
        """Switches that the kernel does not show to programs. None: not known."""
    @property
    def hidden_cpu_ns(self) -> int | None:
        """CPU time of processes that the kernel hides. None: not known."""
    @property
    def missed_exits(self) -> int | None:
        """Tasks that died and were not reported. None: this source misses none."""
    @property
    def from_procfs(self) -> list[int]:
        """Tids of tasks that the kernel hides from programs."""
    @property
    def wait_caused_by(self) -> dict[str, int | None] | None:
        """What tasks waited for a CPU, by what they waited for; None: the account of blame is not kept."""
    @property
    def wait_pairs(self) -> list[dict[str, Any]] | None:
        """Which cgroup made which wait; None: the account of pairs is not kept."""
    @property
    def disks(self) -> list[dict[str, Any]] | None:
        """Requests of each disk, by name; None: the account of disks is not kept."""
    @property
    def wire(self) -> list[dict[str, Any]] | None:
        """Packets and bytes of each cgroup on the wire; None: the account of the network is not kept, or not for cgroups."""
    def to_json(self) -> str:
        """The interval as one line of JSON, schema cpuledger.interval/1."""
    def to_dict(self) -> dict[str, Any]:
        """The interval as a dictionary: what `json.loads` makes of the line."""

@final
class Intervals:
    """Intervals of the service, one after another, without end."""

    def __new__(cls, length: float = 1.0, *, socket: str | None = None) -> Intervals: ...
    def __iter__(self) -> Intervals: ...
    def __next__(self) -> Interval: ...
    def __enter__(self) -> Intervals: ...
    def __exit__(
        self,
        _type: type[BaseException] | None,
        _value: BaseException | None,
        _traceback: TracebackType | None,
        /,
    ) -> None: ...
    @property
    def ended(self) -> str | None:
        """Why there are intervals without books: the service has ended, and is waited for. None: it is there."""
    def close(self) -> None:
        """Ends the iteration, also one that waits in another thread."""

@final
class Recording:
    """A recording, as an iterable of its intervals. Each iteration begins at the first."""

    def __new__(
        cls,
        path: str,
        since: tuple[int, bool] | None,
        until: tuple[int, bool] | None,
        length_ns: int,
    ) -> Recording: ...
    def __iter__(self) -> Iterator[Interval]: ...
    @property
    def span_realtime_ns(self) -> tuple[int, int] | None:
        """When the first interval began, and the last one ended: nanoseconds since 1970. None: it has none."""

@final
class Measuring:
    """A measurement that has begun."""

    def __new__(cls, socket: str | None = None) -> Measuring: ...
    def end(self) -> dict[str, Any]:
        """Makes the last cut, and returns the figures by their names."""

def listing(
    tasks: bool, fields: list[str] | None = None, socket: str | None = None
) -> Table[ListedRow]: ...
def join(
    intervals: Iterable[Interval], table: Literal["processes", "tasks", "exited", "blocked"]
) -> Table[Row]: ...
def columns_of_rows() -> list[tuple[str, list[tuple[str, str, str]]]]: ...

# begin: generated from the columns of rows
@final
class ProcessRow(Row):
    """A process in an interval: the keys of `processes` in docs/json.md."""

    @property
    def pid(self) -> int:
        """Id of its process: the tid of the leader."""
    @property
    def ppid(self) -> int | None:
        """Pid of the parent."""
    @property
    def accounting_ppid(self) -> int | None:
        """Process that inherits its time. Known if a hook saw the fork: with ledger, and with walk for processes that started after it attached."""
    @property
    def start_time_ns(self) -> int | None:
        """CLOCK_BOOTTIME at the start."""
    @property
    def comm(self) -> str:
        """Name of the task."""
    @property
    def uid(self) -> int | None:
        """Real user."""
    @property
    def state(self) -> str | None:
        """State letter as in /proc/PID/stat."""
    @property
    def threads(self) -> int | None:
        """Threads of the process."""
    @property
    def cpu_ns(self) -> int | None:
        """CPU time in the interval."""
    @property
    def self_ns(self) -> int | None:
        """CPU time of its live tasks; from procfs, of all its threads."""
    @property
    def exited_threads_ns(self) -> int | None:
        """CPU time of its threads that exited in the interval; with `ledger`, also of threads without a slot."""
    @property
    def exited_children_ns(self) -> int | None:
        """CPU time of descendants that exited in the interval and whose nearest live ancestor it is."""
    @property
    def exited_children_stolen_ns(self) -> int | None:
        """The part of exited_children_ns in which they did not execute; not every source knows it."""
    @property
    def self_user_ns(self) -> int | None:
        """The part of self_ns that is user time. The three add up to it; not every source knows them."""
    @property
    def self_system_ns(self) -> int | None:
        """The part of self_ns that is system time. The three add up to it; not every source knows them."""
    @property
    def self_stolen_ns(self) -> int | None:
        """The part of self_ns that is stolen time. The three add up to it; not every source knows them."""
    @property
    def exited_threads_user_ns(self) -> int | None:
        """The part of exited_threads_ns that is user time. The three add up to it; not every source knows them."""
    @property
    def exited_threads_system_ns(self) -> int | None:
        """The part of exited_threads_ns that is system time. The three add up to it; not every source knows them."""
    @property
    def exited_threads_stolen_ns(self) -> int | None:
        """The part of exited_threads_ns that is stolen time. The three add up to it; not every source knows them."""
    @property
    def exited_children_user_ns(self) -> int | None:
        """The part of exited_children_ns that is user time. The three add up to it; not every source knows them."""
    @property
    def exited_children_system_ns(self) -> int | None:
        """The part of exited_children_ns that is system time. The three add up to it; not every source knows them."""
    @property
    def user_ns(self) -> int | None:
        """CPU time in user mode, by the kernel's scaling rule."""
    @property
    def system_ns(self) -> int | None:
        """CPU time in the kernel, by the same rule."""
    @property
    def stolen_ns(self) -> int | None:
        """Time on a CPU without executing; not every source knows it."""
    @property
    def runqueue_wait_ns(self) -> int | None:
        """Time waiting for a CPU. Of a process: sum of its live threads; with `ledger`, of all."""
    @property
    def blocked_ns(self) -> int | None:
        """Time blocked, on I/O or anything else that no signal interrupts; only the ledger knows it."""
    @property
    def io_wait_ns(self) -> int | None:
        """The part of `blocked_ns` in which it waited for I/O; only the ledger knows it."""
    @property
    def sleep_ns(self) -> int | None:
        """Time asleep, until an event or a signal; only the ledger knows it."""
    @property
    def stopped_ns(self) -> int | None:
        """Time stopped by a signal, a tracer or a freezer; only the ledger knows it."""
    @property
    def unseen_ns(self) -> int | None:
        """Time off the CPU before the ledger first saw it run: what it did then is not known. Only the ledger reports this."""
    @property
    def elapsed_ns(self) -> int | None:
        """Time it was alive; for a process, the sum over its threads, with those that exited; only the ledger knows it."""
    @property
    def pgid(self) -> int | None:
        """Process group."""
    @property
    def sid(self) -> int | None:
        """POSIX session."""
    @property
    def tty_device(self) -> int | None:
        """Device number of the controlling terminal; 0: none."""
    @property
    def tty_pgid(self) -> int | None:
        """Foreground process group of the terminal; -1: none."""
    @property
    def euid(self) -> int | None:
        """Effective user."""
    @property
    def suid(self) -> int | None:
        """Saved user."""
    @property
    def fsuid(self) -> int | None:
        """File-system user."""
    @property
    def gid(self) -> int | None:
        """Real group."""
    @property
    def egid(self) -> int | None:
        """Effective group."""
    @property
    def sgid(self) -> int | None:
        """Saved group."""
    @property
    def fsgid(self) -> int | None:
        """File-system group."""
    @property
    def flags(self) -> int | None:
        """PF_* flags of the kernel."""
    @property
    def exit_signal(self) -> int | None:
        """Signal to the parent at exit."""
    @property
    def nice(self) -> int | None:
        """Nice value."""
    @property
    def priority(self) -> int | None:
        """Priority as in /proc/PID/stat: 20 + nice, below 0 real-time."""
    @property
    def rt_priority(self) -> int | None:
        """Real-time priority; 0: none."""
    @property
    def policy(self) -> int | None:
        """Scheduling policy, SCHED_*."""
    @property
    def processor(self) -> int | None:
        """CPU it ran on last."""
    @property
    def namespace_tid(self) -> int | None:
        """Its id in its own PID namespace."""
    @property
    def block_io_delay_ns(self) -> int | None:
        """Time waiting for block I/O, where delay accounting is on."""
    @property
    def swap_in_delay_ns(self) -> int | None:
        """Time waiting for swap-in, where delay accounting is on."""
    @property
    def vsize_bytes(self) -> int | None:
        """Virtual memory."""
    @property
    def rss_bytes(self) -> int | None:
        """Resident memory."""
    @property
    def shared_bytes(self) -> int | None:
        """Resident file and shared memory."""
    @property
    def swap_bytes(self) -> int | None:
        """Swapped-out anonymous memory."""
    @property
    def locked_bytes(self) -> int | None:
        """Memory locked by mlock(2)."""
    @property
    def minor_faults(self) -> int | None:
        """Page faults without I/O."""
    @property
    def major_faults(self) -> int | None:
        """Page faults with I/O."""
    @property
    def children_minor_faults(self) -> int | None:
        """Minor faults of children that it has waited for."""
    @property
    def children_major_faults(self) -> int | None:
        """Major faults of children that it has waited for."""
    @property
    def voluntary_switches(self) -> int | None:
        """Context switches because it waited."""
    @property
    def involuntary_switches(self) -> int | None:
        """Context switches because it was preempted."""
    @property
    def read_bytes(self) -> int | None:
        """Bytes read from block devices; for a process, includes children it has waited for."""
    @property
    def write_bytes(self) -> int | None:
        """Bytes written to block devices; for a process, includes children it has waited for."""
    @property
    def cancelled_write_bytes(self) -> int | None:
        """Written bytes whose pages were dropped before they reached the device."""
    @property
    def wait_suffered_ns(self) -> int | None:
        """Time waiting for a CPU, by the account of blame; of a process, with its dead."""
    @property
    def wait_caused_ns(self) -> int | None:
        """Time that others waited for the CPU that it had, summed; likewise."""
    @property
    def network_sent_bytes(self) -> int | None:
        """Bytes sent, but for Unix sockets; of a process, with the dead that it accounts for."""
    @property
    def network_sends(self) -> int | None:
        """Calls that have sent, but for Unix sockets; likewise."""
    @property
    def network_received_bytes(self) -> int | None:
        """Bytes received, but for Unix sockets; of a process, with the dead that it accounts for."""
    @property
    def network_receives(self) -> int | None:
        """Calls that have received, but for Unix sockets; likewise."""
    @property
    def tcp_sent_bytes(self) -> int | None:
        """Bytes sent by TCP, MPTCP included; likewise."""
    @property
    def tcp_sends(self) -> int | None:
        """Calls that have sent by TCP, MPTCP included; likewise."""
    @property
    def tcp_received_bytes(self) -> int | None:
        """Bytes received by TCP, MPTCP included; likewise."""
    @property
    def tcp_receives(self) -> int | None:
        """Calls that have received by TCP, MPTCP included; likewise."""
    @property
    def udp_sent_bytes(self) -> int | None:
        """Bytes sent by UDP; likewise."""
    @property
    def udp_sends(self) -> int | None:
        """Calls that have sent by UDP; likewise."""
    @property
    def udp_received_bytes(self) -> int | None:
        """Bytes received by UDP; likewise."""
    @property
    def udp_receives(self) -> int | None:
        """Calls that have received by UDP; likewise."""
    @property
    def unix_sent_bytes(self) -> int | None:
        """Bytes sent by Unix sockets; likewise."""
    @property
    def unix_sends(self) -> int | None:
        """Calls that have sent by Unix sockets; likewise."""
    @property
    def unix_received_bytes(self) -> int | None:
        """Bytes received by Unix sockets; likewise."""
    @property
    def unix_receives(self) -> int | None:
        """Calls that have received by Unix sockets; likewise."""
    @property
    def disk_reads(self) -> int | None:
        """Reads of it that a disk has ended; of a process, with the dead that it accounts for."""
    @property
    def disk_read_bytes(self) -> int | None:
        """Bytes of these; likewise."""
    @property
    def disk_read_ns(self) -> int | None:
        """Time of these from the call to the end, summed; likewise."""
    @property
    def disk_writes(self) -> int | None:
        """Writes, likewise. Those of the page cache are of a kernel thread."""
    @property
    def disk_written_bytes(self) -> int | None:
        """Bytes of these; likewise."""
    @property
    def disk_write_ns(self) -> int | None:
        """Time of these; likewise."""
    @property
    def disk_blocked_ns(self) -> int | None:
        """The part of `io_wait_ns` for its own requests at disks; of a process, with its dead."""
    @property
    def swap_blocked_ns(self) -> int | None:
        """The part of `disk_blocked_ns` for pages that were swapped out; likewise."""
    @property
    def cgroup_id(self) -> int | None:
        """Cgroup in the unified hierarchy: inode number of its directory."""
    @property
    def cgroup_v1_cpu_id(self) -> int | None:
        """Cgroup in the hierarchy of the cpu controller."""
    @property
    def unit(self) -> str | None:
        """systemd unit or, outside of units, the slice."""
    @property
    def slice(self) -> str | None:
        """systemd slice."""
    @property
    def container(self) -> str | None:
        """Container."""
    @property
    def container_id(self) -> str | None:
        """Id of the container."""
    @property
    def image(self) -> str | None:
        """Image of the container."""
    @property
    def pod(self) -> str | None:
        """Pod of the container."""
    @property
    def namespace(self) -> str | None:
        """Kubernetes namespace of the pod."""

@final
class TaskRow(Row):
    """A task in an interval: the keys of `tasks`."""

    @property
    def tid(self) -> int:
        """Id of the task."""
    @property
    def pid(self) -> int:
        """Id of its process: the tid of the leader."""
    @property
    def comm(self) -> str:
        """Name of the task."""
    @property
    def cpu_ns(self) -> int | None:
        """CPU time in the interval."""
    @property
    def user_ns(self) -> int | None:
        """CPU time in user mode, by the kernel's scaling rule."""
    @property
    def system_ns(self) -> int | None:
        """CPU time in the kernel, by the same rule."""
    @property
    def stolen_ns(self) -> int | None:
        """Time on a CPU without executing; not every source knows it."""
    @property
    def runqueue_wait_ns(self) -> int | None:
        """Time waiting for a CPU. Of a process: sum of its live threads; with `ledger`, of all."""
    @property
    def blocked_ns(self) -> int | None:
        """Time blocked, on I/O or anything else that no signal interrupts; only the ledger knows it."""
    @property
    def io_wait_ns(self) -> int | None:
        """The part of `blocked_ns` in which it waited for I/O; only the ledger knows it."""
    @property
    def sleep_ns(self) -> int | None:
        """Time asleep, until an event or a signal; only the ledger knows it."""
    @property
    def stopped_ns(self) -> int | None:
        """Time stopped by a signal, a tracer or a freezer; only the ledger knows it."""
    @property
    def unseen_ns(self) -> int | None:
        """Time off the CPU before the ledger first saw it run: what it did then is not known. Only the ledger reports this."""
    @property
    def elapsed_ns(self) -> int | None:
        """Time it was alive; for a process, the sum over its threads, with those that exited; only the ledger knows it."""
    @property
    def start_time_ns(self) -> int | None:
        """CLOCK_BOOTTIME at the start."""
    @property
    def uid(self) -> int | None:
        """Real user."""
    @property
    def state(self) -> str | None:
        """State letter as in /proc/PID/stat."""
    @property
    def self_user_ns(self) -> int | None:
        """The part of self_ns that is user time. The three add up to it; not every source knows them."""
    @property
    def self_system_ns(self) -> int | None:
        """The part of self_ns that is system time. The three add up to it; not every source knows them."""
    @property
    def self_stolen_ns(self) -> int | None:
        """The part of self_ns that is stolen time. The three add up to it; not every source knows them."""
    @property
    def euid(self) -> int | None:
        """Effective user."""
    @property
    def suid(self) -> int | None:
        """Saved user."""
    @property
    def fsuid(self) -> int | None:
        """File-system user."""
    @property
    def gid(self) -> int | None:
        """Real group."""
    @property
    def egid(self) -> int | None:
        """Effective group."""
    @property
    def sgid(self) -> int | None:
        """Saved group."""
    @property
    def fsgid(self) -> int | None:
        """File-system group."""
    @property
    def flags(self) -> int | None:
        """PF_* flags of the kernel."""
    @property
    def exit_signal(self) -> int | None:
        """Signal to the parent at exit."""
    @property
    def nice(self) -> int | None:
        """Nice value."""
    @property
    def priority(self) -> int | None:
        """Priority as in /proc/PID/stat: 20 + nice, below 0 real-time."""
    @property
    def rt_priority(self) -> int | None:
        """Real-time priority; 0: none."""
    @property
    def policy(self) -> int | None:
        """Scheduling policy, SCHED_*."""
    @property
    def processor(self) -> int | None:
        """CPU it ran on last."""
    @property
    def namespace_tid(self) -> int | None:
        """Its id in its own PID namespace."""
    @property
    def block_io_delay_ns(self) -> int | None:
        """Time waiting for block I/O, where delay accounting is on."""
    @property
    def swap_in_delay_ns(self) -> int | None:
        """Time waiting for swap-in, where delay accounting is on."""
    @property
    def minor_faults(self) -> int | None:
        """Page faults without I/O."""
    @property
    def major_faults(self) -> int | None:
        """Page faults with I/O."""
    @property
    def voluntary_switches(self) -> int | None:
        """Context switches because it waited."""
    @property
    def involuntary_switches(self) -> int | None:
        """Context switches because it was preempted."""
    @property
    def read_bytes(self) -> int | None:
        """Bytes read from block devices; for a process, includes children it has waited for."""
    @property
    def write_bytes(self) -> int | None:
        """Bytes written to block devices; for a process, includes children it has waited for."""
    @property
    def cancelled_write_bytes(self) -> int | None:
        """Written bytes whose pages were dropped before they reached the device."""
    @property
    def wait_suffered_ns(self) -> int | None:
        """Time waiting for a CPU, by the account of blame; of a process, with its dead."""
    @property
    def wait_caused_ns(self) -> int | None:
        """Time that others waited for the CPU that it had, summed; likewise."""
    @property
    def network_sent_bytes(self) -> int | None:
        """Bytes sent, but for Unix sockets; of a process, with the dead that it accounts for."""
    @property
    def network_sends(self) -> int | None:
        """Calls that have sent, but for Unix sockets; likewise."""
    @property
    def network_received_bytes(self) -> int | None:
        """Bytes received, but for Unix sockets; of a process, with the dead that it accounts for."""
    @property
    def network_receives(self) -> int | None:
        """Calls that have received, but for Unix sockets; likewise."""
    @property
    def tcp_sent_bytes(self) -> int | None:
        """Bytes sent by TCP, MPTCP included; likewise."""
    @property
    def tcp_sends(self) -> int | None:
        """Calls that have sent by TCP, MPTCP included; likewise."""
    @property
    def tcp_received_bytes(self) -> int | None:
        """Bytes received by TCP, MPTCP included; likewise."""
    @property
    def tcp_receives(self) -> int | None:
        """Calls that have received by TCP, MPTCP included; likewise."""
    @property
    def udp_sent_bytes(self) -> int | None:
        """Bytes sent by UDP; likewise."""
    @property
    def udp_sends(self) -> int | None:
        """Calls that have sent by UDP; likewise."""
    @property
    def udp_received_bytes(self) -> int | None:
        """Bytes received by UDP; likewise."""
    @property
    def udp_receives(self) -> int | None:
        """Calls that have received by UDP; likewise."""
    @property
    def unix_sent_bytes(self) -> int | None:
        """Bytes sent by Unix sockets; likewise."""
    @property
    def unix_sends(self) -> int | None:
        """Calls that have sent by Unix sockets; likewise."""
    @property
    def unix_received_bytes(self) -> int | None:
        """Bytes received by Unix sockets; likewise."""
    @property
    def unix_receives(self) -> int | None:
        """Calls that have received by Unix sockets; likewise."""
    @property
    def disk_reads(self) -> int | None:
        """Reads of it that a disk has ended; of a process, with the dead that it accounts for."""
    @property
    def disk_read_bytes(self) -> int | None:
        """Bytes of these; likewise."""
    @property
    def disk_read_ns(self) -> int | None:
        """Time of these from the call to the end, summed; likewise."""
    @property
    def disk_writes(self) -> int | None:
        """Writes, likewise. Those of the page cache are of a kernel thread."""
    @property
    def disk_written_bytes(self) -> int | None:
        """Bytes of these; likewise."""
    @property
    def disk_write_ns(self) -> int | None:
        """Time of these; likewise."""
    @property
    def disk_blocked_ns(self) -> int | None:
        """The part of `io_wait_ns` for its own requests at disks; of a process, with its dead."""
    @property
    def swap_blocked_ns(self) -> int | None:
        """The part of `disk_blocked_ns` for pages that were swapped out; likewise."""
    @property
    def cgroup_id(self) -> int | None:
        """Cgroup in the unified hierarchy: inode number of its directory."""
    @property
    def cgroup_v1_cpu_id(self) -> int | None:
        """Cgroup in the hierarchy of the cpu controller."""
    @property
    def unit(self) -> str | None:
        """systemd unit or, outside of units, the slice."""
    @property
    def slice(self) -> str | None:
        """systemd slice."""
    @property
    def container(self) -> str | None:
        """Container."""
    @property
    def container_id(self) -> str | None:
        """Id of the container."""
    @property
    def image(self) -> str | None:
        """Image of the container."""
    @property
    def pod(self) -> str | None:
        """Pod of the container."""
    @property
    def namespace(self) -> str | None:
        """Kubernetes namespace of the pod."""

@final
class ExitedRow(Row):
    """A task that died in an interval: the keys of `exited`."""

    @property
    def pid(self) -> int:
        ...
    @property
    def tid(self) -> int:
        ...
    @property
    def ppid(self) -> int | None:
        ...
    @property
    def accounting_ppid(self) -> int | None:
        ...
    @property
    def comm(self) -> str:
        ...
    @property
    def cpu_ns(self) -> int:
        ...
    @property
    def runtime_ns(self) -> int:
        ...
    @property
    def lifetime_ns(self) -> int:
        ...
    @property
    def exit_code(self) -> int | None:
        ...
    @property
    def uid(self) -> int:
        ...
    @property
    def euid(self) -> int | None:
        ...
    @property
    def start_time_ns(self) -> int:
        ...
    @property
    def runqueue_wait_ns(self) -> int | None:
        ...
    @property
    def blocked_ns(self) -> int | None:
        ...
    @property
    def io_wait_ns(self) -> int | None:
        ...
    @property
    def sleep_ns(self) -> int | None:
        ...
    @property
    def stopped_ns(self) -> int | None:
        ...
    @property
    def unseen_ns(self) -> int | None:
        ...
    @property
    def elapsed_ns(self) -> int | None:
        ...
    @property
    def life_cpu_ns(self) -> int | None:
        ...
    @property
    def life_runqueue_wait_ns(self) -> int | None:
        ...
    @property
    def life_blocked_ns(self) -> int | None:
        ...
    @property
    def life_io_wait_ns(self) -> int | None:
        ...
    @property
    def life_sleep_ns(self) -> int | None:
        ...
    @property
    def life_stopped_ns(self) -> int | None:
        ...
    @property
    def life_unseen_ns(self) -> int | None:
        ...
    @property
    def life_elapsed_ns(self) -> int | None:
        ...
    @property
    def cgroup_id(self) -> int | None:
        ...
    @property
    def cgroup_v1_cpu_id(self) -> int | None:
        ...
    @property
    def wait_suffered_ns(self) -> int | None:
        ...
    @property
    def wait_caused_ns(self) -> int | None:
        ...
    @property
    def network_sent_bytes(self) -> int | None:
        ...
    @property
    def network_received_bytes(self) -> int | None:
        ...
    @property
    def unix_sent_bytes(self) -> int | None:
        ...
    @property
    def unix_received_bytes(self) -> int | None:
        ...
    @property
    def disk_read_bytes(self) -> int | None:
        ...
    @property
    def disk_written_bytes(self) -> int | None:
        ...
    @property
    def unit(self) -> str | None:
        """systemd unit or, outside of units, the slice."""
    @property
    def slice(self) -> str | None:
        """systemd slice."""
    @property
    def container(self) -> str | None:
        """Container."""
    @property
    def container_id(self) -> str | None:
        """Id of the container."""
    @property
    def image(self) -> str | None:
        """Image of the container."""
    @property
    def pod(self) -> str | None:
        """Pod of the container."""
    @property
    def namespace(self) -> str | None:
        """Kubernetes namespace of the pod."""

@final
class BlockedRow(Row):
    """A task that was blocked in all of an interval: the keys of `blocked`."""

    @property
    def pid(self) -> int:
        ...
    @property
    def tid(self) -> int:
        ...
    @property
    def comm(self) -> str:
        ...
    @property
    def euid(self) -> int | None:
        ...
    @property
    def start_time_ns(self) -> int:
        ...
    @property
    def since_ns(self) -> int | None:
        ...
    @property
    def blocked_for_ns(self) -> int:
        ...
    @property
    def for_io(self) -> bool | None:
        ...

@final
class ListedRow(Row):
    """A process or a task in a listing: every field, cumulative ones since its start."""

    @property
    def tid(self) -> int:
        """Id of the task."""
    @property
    def pid(self) -> int:
        """Id of its process: the tid of the leader."""
    @property
    def ppid(self) -> int | None:
        """Pid of the parent."""
    @property
    def pgid(self) -> int | None:
        """Process group."""
    @property
    def sid(self) -> int | None:
        """POSIX session."""
    @property
    def tty_device(self) -> int | None:
        """Device number of the controlling terminal; 0: none."""
    @property
    def tty_pgid(self) -> int | None:
        """Foreground process group of the terminal; -1: none."""
    @property
    def start_time_ns(self) -> int | None:
        """CLOCK_BOOTTIME at the start."""
    @property
    def uid(self) -> int | None:
        """Real user."""
    @property
    def euid(self) -> int | None:
        """Effective user."""
    @property
    def suid(self) -> int | None:
        """Saved user."""
    @property
    def fsuid(self) -> int | None:
        """File-system user."""
    @property
    def gid(self) -> int | None:
        """Real group."""
    @property
    def egid(self) -> int | None:
        """Effective group."""
    @property
    def sgid(self) -> int | None:
        """Saved group."""
    @property
    def fsgid(self) -> int | None:
        """File-system group."""
    @property
    def comm(self) -> str | None:
        """Name of the task."""
    @property
    def state(self) -> str | None:
        """State letter as in /proc/PID/stat."""
    @property
    def flags(self) -> int | None:
        """PF_* flags of the kernel."""
    @property
    def exit_signal(self) -> int | None:
        """Signal to the parent at exit."""
    @property
    def nice(self) -> int | None:
        """Nice value."""
    @property
    def priority(self) -> int | None:
        """Priority as in /proc/PID/stat: 20 + nice, below 0 real-time."""
    @property
    def rt_priority(self) -> int | None:
        """Real-time priority; 0: none."""
    @property
    def policy(self) -> int | None:
        """Scheduling policy, SCHED_*."""
    @property
    def processor(self) -> int | None:
        """CPU it ran on last."""
    @property
    def threads(self) -> int | None:
        """Threads of the process."""
    @property
    def namespace_tid(self) -> int | None:
        """Its id in its own PID namespace."""
    @property
    def runtime_ns(self) -> int | None:
        """CPU time by the scheduler's clock."""
    @property
    def user_ns(self) -> int | None:
        """CPU time in user mode, by the kernel's scaling rule."""
    @property
    def system_ns(self) -> int | None:
        """CPU time in the kernel, by the same rule."""
    @property
    def children_user_ns(self) -> int | None:
        """User time of children that it has waited for."""
    @property
    def children_system_ns(self) -> int | None:
        """System time of children that it has waited for."""
    @property
    def runqueue_wait_ns(self) -> int | None:
        """Time waiting for a CPU. Of a process: sum of its live threads; with `ledger`, of all."""
    @property
    def block_io_delay_ns(self) -> int | None:
        """Time waiting for block I/O, where delay accounting is on."""
    @property
    def swap_in_delay_ns(self) -> int | None:
        """Time waiting for swap-in, where delay accounting is on."""
    @property
    def vsize_bytes(self) -> int | None:
        """Virtual memory."""
    @property
    def rss_bytes(self) -> int | None:
        """Resident memory."""
    @property
    def shared_bytes(self) -> int | None:
        """Resident file and shared memory."""
    @property
    def swap_bytes(self) -> int | None:
        """Swapped-out anonymous memory."""
    @property
    def locked_bytes(self) -> int | None:
        """Memory locked by mlock(2)."""
    @property
    def minor_faults(self) -> int | None:
        """Page faults without I/O."""
    @property
    def major_faults(self) -> int | None:
        """Page faults with I/O."""
    @property
    def children_minor_faults(self) -> int | None:
        """Minor faults of children that it has waited for."""
    @property
    def children_major_faults(self) -> int | None:
        """Major faults of children that it has waited for."""
    @property
    def voluntary_switches(self) -> int | None:
        """Context switches because it waited."""
    @property
    def involuntary_switches(self) -> int | None:
        """Context switches because it was preempted."""
    @property
    def read_bytes(self) -> int | None:
        """Bytes read from block devices; for a process, includes children it has waited for."""
    @property
    def write_bytes(self) -> int | None:
        """Bytes written to block devices; for a process, includes children it has waited for."""
    @property
    def cancelled_write_bytes(self) -> int | None:
        """Written bytes whose pages were dropped before they reached the device."""
    @property
    def wait_suffered_ns(self) -> int | None:
        """Time waiting for a CPU, by the account of blame; of a process, with its dead."""
    @property
    def wait_caused_ns(self) -> int | None:
        """Time that others waited for the CPU that it had, summed; likewise."""
    @property
    def network_sent_bytes(self) -> int | None:
        """Bytes sent, but for Unix sockets; of a process, with the dead that it accounts for."""
    @property
    def network_sends(self) -> int | None:
        """Calls that have sent, but for Unix sockets; likewise."""
    @property
    def network_received_bytes(self) -> int | None:
        """Bytes received, but for Unix sockets; of a process, with the dead that it accounts for."""
    @property
    def network_receives(self) -> int | None:
        """Calls that have received, but for Unix sockets; likewise."""
    @property
    def tcp_sent_bytes(self) -> int | None:
        """Bytes sent by TCP, MPTCP included; likewise."""
    @property
    def tcp_sends(self) -> int | None:
        """Calls that have sent by TCP, MPTCP included; likewise."""
    @property
    def tcp_received_bytes(self) -> int | None:
        """Bytes received by TCP, MPTCP included; likewise."""
    @property
    def tcp_receives(self) -> int | None:
        """Calls that have received by TCP, MPTCP included; likewise."""
    @property
    def udp_sent_bytes(self) -> int | None:
        """Bytes sent by UDP; likewise."""
    @property
    def udp_sends(self) -> int | None:
        """Calls that have sent by UDP; likewise."""
    @property
    def udp_received_bytes(self) -> int | None:
        """Bytes received by UDP; likewise."""
    @property
    def udp_receives(self) -> int | None:
        """Calls that have received by UDP; likewise."""
    @property
    def unix_sent_bytes(self) -> int | None:
        """Bytes sent by Unix sockets; likewise."""
    @property
    def unix_sends(self) -> int | None:
        """Calls that have sent by Unix sockets; likewise."""
    @property
    def unix_received_bytes(self) -> int | None:
        """Bytes received by Unix sockets; likewise."""
    @property
    def unix_receives(self) -> int | None:
        """Calls that have received by Unix sockets; likewise."""
    @property
    def disk_reads(self) -> int | None:
        """Reads of it that a disk has ended; of a process, with the dead that it accounts for."""
    @property
    def disk_read_bytes(self) -> int | None:
        """Bytes of these; likewise."""
    @property
    def disk_read_ns(self) -> int | None:
        """Time of these from the call to the end, summed; likewise."""
    @property
    def disk_writes(self) -> int | None:
        """Writes, likewise. Those of the page cache are of a kernel thread."""
    @property
    def disk_written_bytes(self) -> int | None:
        """Bytes of these; likewise."""
    @property
    def disk_write_ns(self) -> int | None:
        """Time of these; likewise."""
    @property
    def disk_blocked_ns(self) -> int | None:
        """The part of `io_wait_ns` for its own requests at disks; of a process, with its dead."""
    @property
    def swap_blocked_ns(self) -> int | None:
        """The part of `disk_blocked_ns` for pages that were swapped out; likewise."""
    @property
    def cgroup_id(self) -> int | None:
        """Cgroup in the unified hierarchy: inode number of its directory."""
    @property
    def cgroup_v1_cpu_id(self) -> int | None:
        """Cgroup in the hierarchy of the cpu controller."""
    @property
    def unit(self) -> str | None:
        """systemd unit or, outside of units, the slice."""
    @property
    def slice(self) -> str | None:
        """systemd slice."""
    @property
    def container(self) -> str | None:
        """Container."""
    @property
    def container_id(self) -> str | None:
        """Id of the container."""
    @property
    def image(self) -> str | None:
        """Image of the container."""
    @property
    def pod(self) -> str | None:
        """Pod of the container."""
    @property
    def namespace(self) -> str | None:
        """Kubernetes namespace of the pod."""

# end: generated from the columns of rows
