//! `/proc/PID/status`: lines of a key and its values.

use crate::{entries, number};

/// What the lines say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Real, effective, saved, file system.
    pub uids: [u32; 4],
    /// Likewise.
    pub gids: [u32; 4],
    /// The number in the innermost PID namespace; not said without CONFIG_PID_NS.
    pub namespace_tid: Option<i32>,
    /// Not said of a task that has no memory of its own: a kernel thread, a dead one.
    pub memory: Option<Memory>,
    /// Context switches of this one task, of a process: of its leader.
    pub voluntary_switches: u64,
    /// Likewise.
    pub involuntary_switches: u64,
}

/// Sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // the field table documents each
pub struct Memory {
    pub rss_bytes: u64,
    pub shared_bytes: u64,
    pub swap_bytes: u64,
    pub locked_bytes: u64,
}

/// Reads a whole file; `None` where it was cut or is something else. The kernel escapes newlines in the name, so each
/// line is what it says it is.
pub fn parse_status(bytes: &[u8]) -> Option<Status> {
    let (mut uids, mut gids, mut namespace_tid) = (None, None, None);
    let (mut voluntary, mut involuntary) = (None, None);
    let mut memory = Memory::default();
    let mut has_memory = false;
    for (name, value) in entries(bytes.strip_suffix(b"\n")?) {
        let size = || number::first(value)?.checked_mul(1024);
        match name {
            b"Uid" => uids = Some(four(value)?),
            b"Gid" => gids = Some(four(value)?),
            b"NSpid" => namespace_tid = Some(number::words(value).last().and_then(number::signed)?),
            b"VmLck" => memory.locked_bytes = size()?,
            b"VmRSS" => (has_memory, memory.rss_bytes) = (true, size()?),
            b"RssFile" | b"RssShmem" => memory.shared_bytes = memory.shared_bytes.checked_add(size()?)?,
            b"VmSwap" => memory.swap_bytes = size()?,
            b"voluntary_ctxt_switches" => voluntary = Some(number::first(value)?),
            b"nonvoluntary_ctxt_switches" => involuntary = Some(number::first(value)?),
            _ => {}
        }
    }
    Some(Status {
        uids: uids?,
        gids: gids?,
        namespace_tid: match namespace_tid {
            Some(tid) => Some(tid.try_into().ok()?),
            None => None,
        },
        memory: has_memory.then_some(memory),
        voluntary_switches: voluntary?,
        involuntary_switches: involuntary?,
    })
}

/// Whether this file, of ourselves, tells our own number and no other. The procfs of an outer PID namespace has
/// the numbers of all namespaces from there on, of which the first may be ours by chance. Without CONFIG_PID_NS there is one.
pub fn is_numbered_as(bytes: &[u8], pid: u32) -> bool {
    let value = |wanted: &[u8]| entries(bytes).find_map(|(name, value)| (name == wanted).then_some(value));
    let Some(numbers) = value(b"NSpid").or_else(|| value(b"Pid")) else { return false };
    let mut numbers = number::words(numbers).map(number::unsigned);
    numbers.next() == Some(Some(pid.into())) && numbers.next().is_none()
}

/// The process that the task is of; `None` where the file does not tell.
pub fn pid_of(bytes: &[u8]) -> Option<i32> {
    let (_, value) = entries(bytes).find(|(name, _)| *name == b"Tgid")?;
    number::alone(value)
}

/// What the lines say of signals and more, that no row has and few columns show.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Signals that wait for this task alone, as a set of bits; likewise below.
    pub pending: Option<u64>,
    /// Signals that wait for any task of the process.
    pub shared_pending: Option<u64>,
    /// Signals that are blocked.
    pub blocked: Option<u64>,
    /// Signals that are ignored.
    pub ignored: Option<u64>,
    /// Signals that have a handler.
    pub caught: Option<u64>,
    /// Capabilities that may be used.
    pub permitted: Option<u64>,
    /// Supplementary groups.
    pub groups: Vec<u32>,
    /// Private writable memory without stacks; `None`: it has no memory.
    pub data_kib: Option<u64>,
    /// Memory of the main stack, likewise.
    pub stack_kib: Option<u64>,
}

/// Reads what is there of a file: its beginning will do.
pub fn parse_detail(bytes: &[u8]) -> Detail {
    let mut detail = Detail::default();
    let bits = |value: &[u8]| u64::from_str_radix(str::from_utf8(value.trim_ascii()).ok()?, 16).ok();
    for (name, value) in entries(bytes) {
        match name {
            b"SigPnd" => detail.pending = bits(value),
            b"ShdPnd" => detail.shared_pending = bits(value),
            b"SigBlk" => detail.blocked = bits(value),
            b"SigIgn" => detail.ignored = bits(value),
            b"SigCgt" => detail.caught = bits(value),
            b"CapPrm" => detail.permitted = bits(value),
            b"Groups" => detail.groups = number::words(value).filter_map(number::alone).collect(),
            b"VmData" => detail.data_kib = number::first(value),
            b"VmStk" => detail.stack_kib = number::first(value),
            _ => {}
        }
    }
    detail
}

fn four(value: &[u8]) -> Option<[u32; 4]> {
    let mut words = number::words(value).map(|word| number::unsigned(word)?.try_into().ok());
    Some([words.next()??, words.next()??, words.next()??, words.next()??])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_of_another_namespace_are_told() {
        assert!(is_numbered_as(b"Name:\tx\nPid:\t7\nNSpid:\t7\n", 7));
        assert!(is_numbered_as(b"Name:\tx\nPid:\t7\n", 7), "no CONFIG_PID_NS");
        assert!(!is_numbered_as(b"Name:\tx\nPid:\t300\nNSpid:\t300\t7\n", 7));
        assert!(!is_numbered_as(b"Name:\tx\nPid:\t7\nNSpid:\t7\t7\n", 7), "the same by chance");
        assert!(!is_numbered_as(b"", 7));
        let ours = std::fs::read("/proc/self/status").expect("procfs");
        let pid = std::process::id();
        assert!(is_numbered_as(&ours, pid) && pid_of(&ours) == Some(pid.cast_signed()));
    }

    const FILE: &str = "Name:\tUid:\\n\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t7\nPid:\t7\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t4294967295\n\
        Groups:\t \nNSpid:\t7\t3\t1\nVmLck:\t      16 kB\nVmRSS:\t    1616 kB\nRssAnon:\t     112 kB\nRssFile:\t    1500 kB\nRssShmem:\t       4 kB\n\
        VmSwap:\t       8 kB\nThreads:\t1\nvoluntary_ctxt_switches:\t11\nnonvoluntary_ctxt_switches:\t12\n";

    #[test]
    fn a_file_of_the_kernel_is_read() {
        let memory = Memory {
            rss_bytes: 1616 << 10,
            shared_bytes: 1504 << 10,
            swap_bytes: 8 << 10,
            locked_bytes: 16 << 10,
        };
        let expected = Status {
            uids: [1, 2, 3, 4],
            gids: [5, 6, 7, u32::MAX],
            namespace_tid: Some(1),
            memory: Some(memory),
            voluntary_switches: 11,
            involuntary_switches: 12,
        };
        assert_eq!(parse_status(FILE.as_bytes()), Some(expected));
    }

    #[test]
    fn a_kernel_thread_has_no_memory_and_an_old_kernel_no_namespaces() {
        let without: String = FILE
            .lines()
            .filter(|line| !["Vm", "Rss", "NS"].iter().any(|prefix| line.starts_with(prefix)))
            .map(|line| format!("{line}\n"))
            .collect();
        let status = parse_status(without.as_bytes()).expect("a status");
        assert_eq!((status.memory, status.namespace_tid), (None, None));
    }

    #[test]
    fn no_part_of_a_file_is_taken_for_a_file() {
        for length in 0..FILE.len() {
            assert_eq!(parse_status(&FILE.as_bytes()[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn signals_groups_and_memory_are_detail() {
        let text = b"Name:\ta:b\nGroups:\t4 24 65534 \nVmData:\t     408 kB\nVmStk:\t     132 kB\nSigPnd:\t0000000000000001\n\
                     ShdPnd:\t0000008000000200\nSigBlk:\t0000000000010000\nSigIgn:\t0000000000001000\nSigCgt:\tffffffffffffffff\n\
                     CapPrm:\t000001ffffffffff\n";
        let expected = Detail {
            pending: Some(1),
            shared_pending: Some(0x80_0000_0200),
            blocked: Some(0x1_0000),
            ignored: Some(0x1000),
            caught: Some(u64::MAX),
            permitted: Some(0x1ff_ffff_ffff),
            groups: vec![4, 24, 65534],
            data_kib: Some(408),
            stack_kib: Some(132),
        };
        assert_eq!(parse_detail(text), expected);
        assert_eq!(parse_detail(b"Groups:\t \nSigPnd:\tx\n"), Detail::default());
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let _ = (parse_status(&bytes), parse_detail(&bytes));
        }

        #[test]
        fn any_damage_to_a_file_is_survived(position in 0..FILE.len(), byte: u8) {
            let mut file = FILE.as_bytes().to_vec();
            file[position] = byte;
            let _ = parse_status(&file);
        }
    }
}
