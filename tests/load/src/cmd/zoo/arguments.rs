//! Members whose arguments are hard to print, or gone. They execute this program again, with arguments
//! that it must ignore: the environment says which member it becomes.

use std::env;
use std::ffi::CString;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

use anyhow::{Context, Result, ensure};
use cpuledger_load::Bytes;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, RawPid};

use super::life::{Ending, Kind, Life, comm_of, new_member};
use crate::cmd::sys;

pub(super) const KINDS: &[Kind] = &[
    Kind::new("arguments-escapes", execute_again),
    Kind::new("arguments-long", execute_again),
    Kind::new("arguments-empty", execute_again),
    Kind::new("arguments-overwritten", execute_again),
    Kind::new("arguments-overrun", execute_again),
    Kind::new("arguments-erased", execute_again),
    Kind::new("arguments-none", execute_again),
];

const REQUEST: &str = "CPULEDGER_LOAD_MEMBER";
const TITLE: &[u8] = b"a title of its own";
const LONG_BYTES: usize = 100 * 1024;

fn arguments_of(kind: &str) -> Vec<Vec<u8>> {
    let arguments: &[&[u8]] = match kind {
        "arguments-escapes" => {
            &[b"name", b"two\nlines", b"\x1b[31mred", b"t\tb\\s", b"", b"\xff\xfe", b"a b", b"'\""]
        }
        "arguments-long" => &[b"name", &[b'x'; LONG_BYTES], b"end"],
        "arguments-empty" => &[],
        "arguments-overrun" => &[b"short"],
        _ => &[b"name", b"with", b"room", b"for", b"another", b"title"],
    };
    arguments.iter().map(|argument| argument.to_vec()).collect()
}

fn execute_again(life: &mut Life) -> Result<Ending> {
    let kind = &life.member.kind;
    let parent = life.parent.map_or(0, Pid::as_raw_pid);
    let request = format!("{REQUEST}={}:{parent}:{kind}", life.tell.as_raw_fd());
    fcntl_setfd(life.tell, FdFlags::empty()).context("keep the channel")?;
    let arguments: Vec<CString> =
        arguments_of(kind).into_iter().map(CString::new).collect::<Result<_, _>>()?;
    let environment = CString::new(request)?;
    let (arguments, environment) = (
        sys::Strings::new(arguments.iter().map(CString::as_c_str)),
        sys::Strings::new([environment.as_c_str()]),
    );
    Err(sys::execute(c"/proc/self/exe", &arguments, &environment)).context("execute itself")
}

/// Which member this process becomes.
pub(crate) struct Request {
    tell: RawFd,
    parent: Option<Pid>,
    kind: String,
}

/// The request, if this process was executed by a member.
pub(crate) fn requested_by_environment() -> Option<Request> {
    let request = env::var(REQUEST).ok()?;
    let mut fields = request.splitn(3, ':');
    let (tell, parent) = (fields.next()?.parse().ok()?, fields.next()?.parse::<RawPid>().ok()?);
    Some(Request { tell, parent: Pid::from_raw(parent), kind: fields.next()?.to_string() })
}

/// Carries on with the life of the member that executed this program.
pub(crate) fn resume(request: &Request) -> ! {
    // SAFETY: the member left this descriptor open for its own use after the exec, and told it to no other code
    // else.
    let tell = unsafe { OwnedFd::from_raw_fd(request.tell) };
    let life = Life { tell: tell.as_fd(), parent: request.parent, member: new_member(&request.kind) };
    let status = life.run(|life| {
        life.set_comm(comm_of(&request.kind))?;
        life.member.truth.cmdline = Some(Bytes(arrange_arguments(&request.kind)?));
        Ok(Ending::Sleep)
    });
    sys::exit_now(status)
}

/// Does to its own arguments what the kind is about, and says what `/proc/PID/cmdline` holds then.
fn arrange_arguments(kind: &str) -> Result<Vec<u8>> {
    match kind {
        "arguments-overwritten" => overwrite_arguments(TITLE, false),
        "arguments-overrun" => overwrite_arguments(TITLE, true),
        "arguments-erased" => overwrite_arguments(b"", false),
        "arguments-none" => {
            let mut map = memory_map()?;
            map.arguments.end = map.arguments.start;
            sys::set_memory_map(&map).context("have the kernel forget the arguments")?;
            Ok(Vec::new())
        }
        // Since Linux 5.18 a program without arguments gets an empty one.
        "arguments-empty" => Ok(with_ends(env::args_os().map(|argument| argument.as_bytes().to_vec()))),
        _ => Ok(with_ends(arguments_of(kind))),
    }
}

fn with_ends(arguments: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for argument in arguments {
        bytes.extend(argument);
        bytes.push(0);
    }
    bytes
}

/// The numbers are those of proc(5).
pub(crate) fn memory_map() -> Result<sys::MemoryMap> {
    let stat = fs::read("/proc/self/stat").context("read /proc/self/stat")?;
    let name_end = stat.iter().rposition(|&byte| byte == b')').context("/proc/self/stat has no name")?;
    let fields = std::str::from_utf8(&stat[name_end..]).context("/proc/self/stat is not text")?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let field = |number: usize| -> Result<u64> {
        let text = fields.get(number - 2).context("/proc/self/stat is too short")?;
        text.parse().with_context(|| format!("field {number} of /proc/self/stat"))
    };
    Ok(sys::MemoryMap {
        code: field(26)?..field(27)?,
        stack_start: field(28)?,
        data: field(45)?..field(46)?,
        heap_start: field(47)?,
        arguments: field(48)?..field(49)?,
        environment: field(50)?..field(51)?,
    })
}

/// Writes a title over the arguments, as daemons do. If it ends within them, zeros fill the rest, and the
/// kernel shows the whole area. If it overruns them into the environment, the kernel shows it up to its end.
fn overwrite_arguments(title: &[u8], overrun: bool) -> Result<Vec<u8>> {
    let map = memory_map()?;
    let room = usize::try_from(map.arguments.end - map.arguments.start)?;
    let more_room = usize::try_from(map.environment.end - map.arguments.start)?;
    let mut bytes = title.to_vec();
    if overrun {
        ensure!((room..more_room).contains(&title.len()), "the title does not end in the environment");
        bytes.push(0);
    } else {
        ensure!(title.len() < room, "the title does not end in the arguments");
        bytes.resize(room, 0);
    }
    // SAFETY: the kernel put the arguments and, after them, the environment there, in writable memory of this
    // process. No reference into them is held: the library copies what it is asked for, and so was the
    // request.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), map.arguments.start as *mut u8, bytes.len()) };
    Ok(bytes)
}
