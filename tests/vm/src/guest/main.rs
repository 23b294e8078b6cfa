//! The first process of the guest: mounts what a machine has, has a child run the tests, waits for orphans meanwhile, and
//! restarts, which ends the emulator. It says what it finds in events on the console.

mod checks;
mod run;

use std::error::Error;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread;

use cpuledger_vm::Machine;
use cpuledger_vm::extent::Chosen;
use cpuledger_vm::machine::TAKEN_OFFLINE;
use rustix::mount::{MountFlags, mount};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, netlink, recv, sendto, socket};
use rustix::process::{WaitOptions, wait};
use rustix::system::{RebootCommand, reboot};

/// How the child is called that runs the tests.
const RUN: &str = "run";

/// What is mounted: file system and place. Not on /tmp: what is in the initramfs may lie below it.
const MOUNTS: [(&str, &str); 8] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("devpts", "/dev/pts"),
    ("tmpfs", "/dev/shm"),
    ("cgroup2", "/sys/fs/cgroup"),
    ("tracefs", "/sys/kernel/tracing"),
    ("bpf", "/sys/fs/bpf"),
];

/// Threads of the first process besides its leader: walks have to see them.
const THREADS_OF_INIT: usize = 3;

fn main() -> ExitCode {
    if std::process::id() == 1 {
        begin();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [RUN] => run::run(machine(), suites()),
        ["--list", ..] => checks::list(),
        ["--test-threads=1", "--nocapture", "--exact", ref names @ ..] => return checks::check(names),
        _ => {
            eprintln!(
                "this is the first process of a guest of cpuledger-vm, or lists and runs its checks as a test binary"
            );
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// The machine that the host says this is.
fn machine() -> Machine {
    let line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    Machine::of_command_line(&line).expect("the host names the machine on the command line of the kernel")
}

/// The suites that the host wants here.
fn suites() -> Chosen {
    let line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    Chosen::of_command_line(&line).expect("the host names the suites on the command line of the kernel")
}

/// The life of the first process.
fn begin() -> ! {
    if let Err(error) = live() {
        println!("the guest cannot begin: {error}");
    }
    rustix::fs::sync();
    // QEMU is told to end where a machine would restart; one that was suspended to memory takes 11 s to fail to power off.
    let error = reboot(RebootCommand::Restart).err();
    panic!("the guest cannot end: {error:?}");
}

/// Of rtnetlink(7): changes a device.
const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST_AND_ACK: u16 = 1 | 4;
const NLMSG_ERROR: u16 = 2;
/// Of netdevice(7).
const IFF_UP: u32 = 1;
/// The first device of a network namespace is the loopback device.
const LOOPBACK: i32 = 1;

/// Tests of sockets connect to 127.0.0.1.
fn bring_up_loopback() -> Result<(), Box<dyn Error>> {
    let mut message = Vec::new();
    // The header: length, type, flags, sequence, port.
    message.extend(32u32.to_ne_bytes());
    message.extend([RTM_NEWLINK, NLM_F_REQUEST_AND_ACK].map(u16::to_ne_bytes).concat());
    message.extend([0u32; 2].map(u32::to_ne_bytes).concat());
    // The device: family, type, index, flags, and which of these change.
    message.extend([0u16; 2].map(u16::to_ne_bytes).concat());
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend([IFF_UP; 2].map(u32::to_ne_bytes).concat());
    // Without a protocol, it is NETLINK_ROUTE.
    let route = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    sendto(&route, &message, SendFlags::empty(), &netlink::SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 64];
    recv(&route, &mut answer, RecvFlags::empty())?;
    let kind = u16::from_ne_bytes([answer[4], answer[5]]);
    let error = i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]);
    if (kind, error) == (NLMSG_ERROR, 0) {
        return Ok(());
    }
    Err(format!("the loopback device does not come up: answer {kind}, error {error}").into())
}

fn live() -> Result<(), Box<dyn Error>> {
    for (kind, place) in MOUNTS {
        fs::create_dir_all(place)?;
        mount(kind, place, kind, MountFlags::empty(), None)
            .map_err(|error| format!("{kind} on {place}: {error}"))?;
    }
    for (link, target) in [("/dev/fd", "/proc/self/fd"), ("/dev/stdout", "/proc/self/fd/1")] {
        std::os::unix::fs::symlink(target, link)?;
    }
    bring_up_loopback()?;
    // By the memory of the guest there would be fewer than a test makes.
    fs::write("/proc/sys/kernel/threads-max", "60000")?;
    for _ in 0..THREADS_OF_INIT {
        thread::spawn(|| {
            loop {
                thread::park()
            }
        });
    }
    if machine() == Machine::SparseCpus {
        for cpu in TAKEN_OFFLINE {
            fs::write(format!("/sys/devices/system/cpu/cpu{cpu}/online"), "0")?;
        }
    }
    let own = Path::new("/proc/self/exe").read_link()?;
    let mut command = Command::new(own);
    // Nothing else runs on the machine: a test may take a CPU offline, set the clock, and suspend it.
    command.arg(RUN).env_clear().envs([
        ("CPULEDGER_TEST_MAY_UNPLUG", "1"),
        ("CPULEDGER_TEST_MAY_SET_CLOCK", "1"),
        ("CPULEDGER_TEST_MAY_SUSPEND", "1"),
        ("CPULEDGER_TEST_EMULATED", "1"),
        ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
        ("HOME", "/"),
        ("LANG", "C.UTF-8"),
    ]);
    let run = command.process_group(0).spawn()?.id();
    // A process that loses its parent becomes our child, and we wait for all.
    loop {
        match wait(WaitOptions::empty())? {
            Some((pid, _)) if pid.as_raw_nonzero().get().cast_unsigned() == run => return Ok(()),
            _ => {}
        }
    }
}
