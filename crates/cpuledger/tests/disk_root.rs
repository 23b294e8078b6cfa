//! The account of disks, against /proc/diskstats and a program that knows what it has read and written. Needs root and Linux 6.5.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cpuledger::counters::Counters;
use cpuledger::source::ledger::{Ledger, Options, Wanted, lacks, tell_devices_apart};
use cpuledger::{Account, Accounts, Field, FieldSet, Interval, Pid};
use cpuledger_load::{Cgroup, LoopDevice, not_run};
use cpuledger_model::disk::DiskUse;
use cpuledger_model::make;

/// Bytes of a request: aligned, as O_DIRECT asks for it.
const BLOCK: usize = 4096;
const BLOCKS: u64 = 200;

#[repr(C, align(4096))]
struct Aligned([u8; BLOCK]);

fn books() -> Option<(Ledger, Interval)> {
    if let Some(error) = lacks(Account::Disk) {
        not_run(&error.to_string());
        return None;
    }
    let options = make!(Options { accounts: Accounts::of(&[Account::Disk]) });
    Some((Ledger::open(options).expect("the ledger attaches; it needs root"), Interval::default()))
}

fn close(ledger: &mut Ledger, interval: &mut Interval) {
    let wanted = make!(Wanted { fields: FieldSet::ALL, pids: &[], all: false });
    ledger.close(0, &wanted, interval).expect("an interval");
    let disks = interval.disks.as_ref().expect("the account is kept");
    let sum = |of: fn(&Counters) -> u64| -> u64 {
        interval.processes.iter().map(|row| of(&row.usage.growth)).sum()
    };
    let (all, unattributed) = (disks.all(), disks.unattributed());
    let told = |of: fn(&DiskUse) -> u64| of(&all) - of(&unattributed);
    let told = [
        told(|disks| disks.reads.count),
        told(|disks| disks.reads.bytes),
        told(|disks| disks.reads.ns),
        told(|disks| disks.writes.count),
        told(|disks| disks.writes.bytes),
        told(|disks| disks.writes.ns),
        told(|disks| disks.blocked_ns),
    ];
    let of_rows = [
        sum(|growth| growth.disk_reads),
        sum(|growth| growth.disk_read_bytes),
        sum(|growth| growth.disk_read_ns),
        sum(|growth| growth.disk_writes),
        sum(|growth| growth.disk_written_bytes),
        sum(|growth| growth.disk_write_ns),
        sum(|growth| growth.disk_blocked_ns),
    ];
    assert_eq!(of_rows, told, "{disks:?}");
}

/// By numbers of devices: reads, sectors read, writes, sectors written, discards, sectors discarded.
fn diskstats() -> BTreeMap<(u32, u32), [u64; 6]> {
    let text = std::fs::read_to_string("/proc/diskstats").expect("procfs");
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |place: usize| words[place].parse::<u64>().expect("a number");
        let place = (number(0) as u32, number(1) as u32);
        (place, [3, 5, 7, 9, 14, 16].map(number))
    };
    text.lines().map(of_line).collect()
}

/// A file on a file system that has a disk below; `None`: none of these has.
fn file_on_disk() -> Option<(File, tempfile::TempDir)> {
    let folders = [env!("CARGO_TARGET_TMPDIR"), "/var/tmp", "/tmp"];
    folders.into_iter().find_map(|folder| {
        let folder = tempfile::tempdir_in(folder).ok()?;
        let path = folder.path().join("blocks");
        std::fs::write(&path, vec![1; BLOCK * BLOCKS as usize]).ok()?;
        File::open(&path).and_then(|file| file.sync_all()).ok()?;
        let file =
            OpenOptions::new().read(true).write(true).custom_flags(libc_o_direct()).open(&path).ok()?;
        // A file system in memory has no device of its own.
        let device = file.metadata().ok()?.dev();
        (rustix::fs::major(device) > 0).then_some((file, folder))
    })
}

fn libc_o_direct() -> i32 {
    rustix::fs::OFlags::DIRECT.bits().cast_signed()
}

/// These tests look at the requests of this process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn requests_are_those_of_the_kernel_and_of_the_task_root() {
    let _alone = alone();
    let Some((mut ledger, mut interval)) = books() else { return };
    let Some((file, _folder)) = file_on_disk() else {
        not_run("no file system here is on a disk and takes O_DIRECT");
        return;
    };
    close(&mut ledger, &mut interval);
    let mut block = Aligned([0; BLOCK]);
    for number in 0..BLOCKS {
        file.read_exact_at(&mut block.0, number * BLOCK as u64).expect("it is there");
    }
    block.0.fill(2);
    for number in 0..BLOCKS {
        file.write_all_at(&block.0, number * BLOCK as u64).expect("there is room");
    }
    close(&mut ledger, &mut interval);
    let own = Pid(std::process::id().cast_signed());
    let row = interval.processes.iter().find(|row| row.task.pid == own).expect("it has run");
    let growth = row.usage.growth;
    // A block is read and written at once; metadata may come on top.
    let bytes = BLOCKS * BLOCK as u64;
    assert_eq!(growth.disk_read_bytes, growth.disk_reads * BLOCK as u64, "{growth:?}");
    // A kernel that hides a switch leaves a request without its task: it is among those of no row, and there are few.
    let of_no_row = interval.disks.as_ref().expect("it is kept").unattributed();
    let is_all = |count, of_no_row| count > BLOCKS * 9 / 10 && count + of_no_row >= BLOCKS;
    assert!(growth.disk_reads <= BLOCKS && is_all(growth.disk_reads, of_no_row.reads.count), "{growth:?}");
    assert!(is_all(growth.disk_writes, of_no_row.writes.count), "{growth:?} {of_no_row:?}");
    assert!(growth.disk_written_bytes < bytes + bytes / 10, "{growth:?}");
    let busiest = interval.disks.as_ref().expect("it is kept").devices.iter();
    let disk = busiest.max_by_key(|disk| disk.all.reads.count).expect("there is one");
    let of_times: u64 = disk.times.as_ref().expect("the ledger knows them").reads.iter().sum();
    // Of those that are no task's, it is known of some, such as reads ahead that the kernel finishes.
    let of_tasks = disk.all.reads.count - disk.unattributed.reads.count;
    assert!((of_tasks..=disk.all.reads.count).contains(&of_times), "{of_times}: {disk:?}");
    // It waits for each of them: the time of a request is about that for which it was blocked. Some of that is after the disk, until the kernel wakes it.
    let states = row.usage.states.expect("the ledger knows them");
    let (for_disks_ns, io_wait_ns) = (growth.disk_blocked_ns, states.io_wait_ns);
    assert!(for_disks_ns <= io_wait_ns && for_disks_ns > io_wait_ns / 4, "{growth:?} {states:?}");
    assert!(for_disks_ns <= growth.disk_read_ns + growth.disk_write_ns, "{growth:?}");
    let blocked_ns = states.blocked_ns;
    let request_ns = growth.disk_read_ns + growth.disk_write_ns;
    assert!(
        request_ns > blocked_ns / 2 && request_ns < 2 * blocked_ns + 1_000_000_000,
        "{request_ns} {blocked_ns}"
    );
    assert!(disk.queue_ns + disk.device_ns <= disk.all.reads.ns + disk.all.writes.ns + disk.all.discards.ns);
}

/// `dd` reads a file and dies: its bytes are under its name, and its heir has them, too.
#[test]
fn the_dead_have_what_disks_did_for_them_root() {
    let _alone = alone();
    let Some((mut ledger, mut interval)) = books() else { return };
    let Some((_file, folder)) = file_on_disk() else {
        not_run("no file system here is on a disk and takes O_DIRECT");
        return;
    };
    close(&mut ledger, &mut interval);
    let input = format!("if={}", folder.path().join("blocks").display());
    let mut dd = Command::new("dd");
    dd.args([&input, "of=/dev/null", "bs=4k", "iflag=direct"]).stderr(Stdio::null());
    let mut dd = dd.spawn().expect("coreutils are installed");
    let pid = dd.id().cast_signed();
    assert!(dd.wait().expect("it is ours").success());
    close(&mut ledger, &mut interval);
    let exited = interval.exited.as_ref().expect("the ledger sees them");
    let dead = exited.iter().find(|exited| exited.exit.process.tid.0 == pid).expect("it has died");
    // Its program and libraries may be read from the disk, too.
    let bytes = BLOCKS * BLOCK as u64;
    let read = dead.booked.disk_read_bytes.expect("root sees all");
    assert!((bytes..bytes + (8 << 20)).contains(&read), "{read} of {bytes}: {:?}", dead.booked);
    assert_eq!(dead.booked.network_sent_bytes, None, "that account is not kept");
    let own = Pid(std::process::id().cast_signed());
    let heir = interval.processes.iter().find(|row| row.task.pid == own).expect("it has run");
    assert!(heir.usage.growth.disk_read_bytes >= read, "{:?}", heir.usage.growth);
}

/// Both are read one after the other, so that a request may end in between: the sum over intervals is that of the kernel when the disks rest.
#[test]
fn devices_have_what_diskstats_has_root() {
    let _alone = alone();
    let Some((mut ledger, mut interval)) = books() else { return };
    let Some((file, _folder)) = file_on_disk() else {
        not_run("no file system here is on a disk and takes O_DIRECT");
        return;
    };
    close(&mut ledger, &mut interval);
    for _ in 0..20 {
        let before = diskstats();
        close(&mut ledger, &mut interval);
        let is_before = diskstats() == before;
        let block = Aligned([3; BLOCK]);
        for number in 0..BLOCKS / 4 {
            file.write_all_at(&block.0, number * BLOCK as u64).expect("there is room");
        }
        let after = diskstats();
        close(&mut ledger, &mut interval);
        if !is_before || diskstats() != after {
            continue;
        }
        let disks = interval.disks.as_ref().expect("it is kept");
        let mut compared = 0;
        for (numbers, after) in &after {
            let mut grown = *after;
            grown.iter_mut().zip(before[numbers]).for_each(|(after, before)| *after -= before);
            let told = disks.devices.iter().find(|disk| disk.numbers == Some(*numbers));
            // Partitions, and what has no requests of its own such as device mapper, have none here.
            let Some(told) = told else { continue };
            let DiskUse { reads, writes, discards, .. } = told.all;
            let told = [reads, writes, discards].map(|of| [of.count, of.bytes / 512]).concat();
            assert_eq!(told, grown, "{numbers:?}");
            compared += 1;
        }
        assert!(compared > 0 && disks.all().writes.count >= BLOCKS / 4);
        return;
    }
    not_run("the disks of this machine never rested for an instant");
}

/// Accounts tell this many devices apart, in both intervals, as long as it lives.
struct FewDevices;

impl FewDevices {
    fn of(most: u32) -> FewDevices {
        tell_devices_apart(most);
        FewDevices
    }
}

impl Drop for FewDevices {
    fn drop(&mut self) {
        tell_devices_apart(512);
    }
}

/// Where there is room for one device, all others are one, with all that they did.
#[test]
fn devices_without_room_are_one_and_nothing_is_lost_root() {
    let _alone = alone();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let loops: Result<Vec<LoopDevice>, _> =
        (0..3).map(|number| LoopDevice::new(&folder.path().join(number.to_string()))).collect();
    let loops = match loops {
        Ok(loops) => loops,
        Err(error) => return not_run(&error.to_string()),
    };
    let _few = FewDevices::of(1);
    let Some((mut ledger, mut interval)) = books() else { return };
    close(&mut ledger, &mut interval);
    for (reads, device) in (1..).map(|number| 20 * number).zip(&loops) {
        let file = OpenOptions::new().read(true).custom_flags(libc_o_direct()).open(device.path());
        let file = file.expect("root may");
        let mut block = Aligned([0; BLOCK]);
        for number in 0..reads {
            file.read_exact_at(&mut block.0, number * BLOCK as u64).expect("it is there");
        }
    }
    close(&mut ledger, &mut interval);
    let disks = interval.disks.as_ref().expect("it is kept");
    let (others, named) = disks.devices.split_last().expect("disks have read");
    assert_eq!((others.numbers, named.len()), (None, 1), "{disks:?}");
    // The files of the devices may be read, too.
    let reads = disks.all().reads;
    assert!(reads.count >= 20 + 40 + 60 && reads.bytes >= reads.count * 512, "{disks:?}");
    assert!(others.all.reads.count >= 20 + 40 && others.device_ns > 0, "{disks:?}");
    let totals = interval.disk_totals;
    assert_eq!((totals.reads, totals.read_bytes), (Some(reads.count), Some(reads.bytes)));
}

/// A program that reads a file through io_uring. It is killed at the end.
struct RingReader {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl RingReader {
    /// Starts it under this name. `None`, which is said: the kernel has no io_uring for it.
    fn start(folder: &Path, name: &str, way: &str) -> Option<RingReader> {
        let program = folder.join(name);
        std::fs::copy(cpuledger_load::program().expect("the program"), &program).expect("there is room");
        let mut command = Command::new(program);
        command.args(["ring", "--way", way, "--file"]).arg(folder.join("blocks"));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it may be executed");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut reader = RingReader { child, lines };
        match &*reader.line() {
            "ready" => Some(reader),
            refused => {
                let path = "/proc/sys/kernel/io_uring_disabled";
                let disabled = std::fs::read_to_string(path).unwrap_or_else(|error| error.to_string());
                not_run(&format!("io_uring: {refused} ({path}: {})", disabled.trim()));
                None
            }
        }
    }

    fn line(&mut self) -> String {
        self.lines.next().expect("it says something").expect("UTF-8")
    }

    /// Has it read the file once more. Returns how many bytes it got.
    fn read(&mut self) -> u64 {
        self.child.stdin.as_mut().expect("a pipe").write_all(b"+").expect("it listens");
        let line = self.line();
        let bytes = line.strip_prefix("read bytes=").unwrap_or_else(|| panic!("{line}"));
        bytes.parse().expect("a number")
    }

    /// Has it end.
    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().expect("it is ours").success());
    }
}

impl Drop for RingReader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is read through io_uring is with the process, to the byte, whichever task asks the disk: the process itself, or a thread that the
/// kernel has made for it. The process has it while it lives, and under its name when it has died.
#[test]
fn io_uring_is_booked_to_the_process_root() {
    let _alone = alone();
    let Some((mut ledger, mut interval)) = books() else { return };
    let Some((_file, folder)) = file_on_disk() else {
        not_run("no file system here is on a disk and takes O_DIRECT");
        return;
    };
    let bytes = BLOCKS * BLOCK as u64;
    // A name of a task has at most 15 bytes.
    for (way, name) in [("own", "ring-own"), ("worker", "ring-worker"), ("poller", "ring-poller")] {
        let Some(mut reader) = RingReader::start(folder.path(), name, way) else { return };
        let pid = Pid(reader.child.id().cast_signed());
        close(&mut ledger, &mut interval);
        assert_eq!(reader.read(), bytes);
        close(&mut ledger, &mut interval);
        let row = interval.processes.iter().find(|row| row.task.pid == pid).expect("it has run");
        assert_eq!(row.task.comm.as_bytes(), name.as_bytes());
        let growth = row.usage.growth;
        assert_eq!(growth.disk_read_bytes, bytes, "{way}: {growth:?}");
        // Blocks that are neighbours may be one request.
        assert!((1..=BLOCKS).contains(&growth.disk_reads), "{way}: {growth:?}");
        let threads = interval.tasks.iter().filter(|row| row.task.pid == pid && row.task.tid.0 != pid.0);
        let of_threads: u64 = threads.map(|row| row.usage.growth.disk_read_bytes).sum();
        // Of its own requests, the kernel may leave some to a worker.
        assert!(way == "own" || of_threads == bytes, "{way}: threads have read {of_threads} of {bytes}");
        assert_eq!(reader.read(), bytes);
        reader.end();
        close(&mut ledger, &mut interval);
        let exited = interval.exited.as_ref().expect("the ledger sees them");
        let dead: Vec<_> = exited.iter().filter(|dead| dead.exit.process.tid.0 == pid.0).collect();
        assert!(dead.iter().any(|dead| dead.exit.comm.as_bytes() == name.as_bytes()), "{way}: {dead:?}");
        let read: u64 = dead.iter().filter_map(|dead| dead.booked.disk_read_bytes).sum();
        assert_eq!(read, bytes, "{way}: {dead:?}");
    }
}

/// Swap of a test's own. It is turned off when dropped.
struct Swap(LoopDevice);

impl Swap {
    /// Turns it on, of so many bytes. Otherwise why it cannot be.
    fn of_size(file: &Path, bytes: usize) -> Result<Swap, String> {
        if !Path::new("/proc/swaps").exists() {
            return Err("this kernel has no swap (CONFIG_SWAP)".to_owned());
        }
        let device = LoopDevice::of_size(file, bytes).map_err(|error| error.to_string())?;
        run("mkswap", device.path())?;
        run("swapon", device.path())?;
        Ok(Swap(device))
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        if let Err(error) = run("swapoff", self.0.path()) {
            eprintln!("{} is still swap: {error}", self.0.path());
        }
    }
}

fn run(program: &str, argument: &str) -> Result<(), String> {
    let output =
        Command::new(program).arg(argument).output().map_err(|error| format!("{program}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{program}: {}", said.trim())) }
}

/// A process that is killed when dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `dd` fills a buffer that is twice its memory, again and again: it waits for swapped pages. Those of zeros alone would not be written. This process reads a disk, and has none.
#[test]
fn time_for_swapped_pages_is_told_apart_root() {
    let _alone = alone();
    let Some((file, folder)) = file_on_disk() else {
        return not_run("no file system here is on a disk and takes O_DIRECT");
    };
    // It goes when nothing is in it any more.
    let swap = match Swap::of_size(&folder.path().join("swap"), 96 << 20) {
        Ok(swap) => swap,
        Err(error) => return not_run(&error),
    };
    let group = match Cgroup::new("memory") {
        Ok(group) => group,
        Err(error) => return not_run(&error.to_string()),
    };
    group.limit_memory(16 << 20).expect("it is above what it has");
    let Some((mut ledger, mut interval)) = books() else { return };
    let script = format!(
        "echo $$ > {}/cgroup.procs; exec dd if=/dev/urandom of=/dev/null bs=32M count=1000000",
        group.path().display()
    );
    let dd = Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).spawn().expect("a shell");
    let dd = Killed(dd);
    let pids = [dd.0.id(), std::process::id()].map(|pid| Pid(pid.cast_signed()));
    // The first buffer is filled without anything to read.
    std::thread::sleep(std::time::Duration::from_secs(2));
    close(&mut ledger, &mut interval);
    let mut block = Aligned([0; BLOCK]);
    for round in 0..10 * BLOCKS {
        file.read_exact_at(&mut block.0, round % BLOCKS * BLOCK as u64).expect("it is there");
    }
    std::thread::sleep(std::time::Duration::from_secs(1));
    close(&mut ledger, &mut interval);
    let [of_swap, of_files] = pids.map(|pid| {
        let row = interval.processes.iter().find(|row| row.task.pid == pid).expect("it has run");
        assert!(row.usage.growth.known.contains(Field::SwapBlocked), "{:?}", row.usage.growth);
        // What comes while a task waits for a CPU is not what blocks it. The kernel has that wait by a clock of its own.
        let io_wait_ns = row.usage.states.expect("the ledger keeps states").io_wait_ns;
        let disk_ns = row.usage.growth.disk_blocked_ns;
        println!("{pid:?}: {disk_ns} ns for disks of {io_wait_ns} ns blocked for I/O");
        assert!(disk_ns <= io_wait_ns + io_wait_ns / 50, "{row:?}");
        row.usage.growth
    });
    let disk_ns = of_swap.disk_blocked_ns;
    // Pages that it writes to make room come back meanwhile, and are not for it.
    assert!(of_swap.swap_blocked_ns > disk_ns / 10 && of_swap.swap_blocked_ns <= disk_ns, "{of_swap:?}");
    assert!(disk_ns > 0 && of_swap.major_faults > 0, "{of_swap:?}");
    assert!(of_files.disk_blocked_ns > 0 && of_files.swap_blocked_ns == 0, "{of_files:?}");
    println!("dd: {} of {disk_ns} ns blocked for the disk were for swapped pages", of_swap.swap_blocked_ns);
    drop((dd, group, swap));
}
