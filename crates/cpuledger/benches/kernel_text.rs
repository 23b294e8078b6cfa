//! Rendering the text of /proc/PID/{status,stat}: appended to a buffer, and the same with `write!`. First they are compared.

use std::hint::black_box;
use std::io::Write;

use cpuledger::source::kernel_text::{Dialect, Form, KernelText, Whole, Written};
use cpuledger_bpf::{StatusRecords, abi};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const TASKS: usize = 1_000;

/// A text as a kernel with 256 CPUs and 1,024 memory nodes has it: only its lines and their widths are learnt from it.
const SAMPLE: &str = "Name:\ta\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t1\nNgid:\t0\nPid:\t1\nPPid:\t0\nTracerPid:\t0\n\
    Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nFDSize:\t64\nGroups:\t \nNStgid:\t1\nNSpid:\t1\nNSpgid:\t1\nNSsid:\t1\nKthread:\t0\n\
    VmPeak:\t 1 kB\nVmSize:\t 1 kB\nVmLck:\t 0 kB\nVmPin:\t 0 kB\nVmHWM:\t 0 kB\nVmRSS:\t 0 kB\nRssAnon:\t 0 kB\nRssFile:\t 0 kB\n\
    RssShmem:\t 0 kB\nVmData:\t 0 kB\nVmStk:\t 0 kB\nVmExe:\t 0 kB\nVmLib:\t 0 kB\nVmPTE:\t 0 kB\nVmSwap:\t 0 kB\n\
    HugetlbPages:\t 0 kB\nCoreDumping:\t0\nTHP_enabled:\t1\nuntag_mask:\t0xffffffffffffffff\nThreads:\t1\nSigQ:\t0/1\n\
    SigPnd:\t0\nShdPnd:\t0\nSigBlk:\t0\nSigIgn:\t0\nSigCgt:\t0\nCapInh:\t0\nCapPrm:\t0\nCapEff:\t0\nCapBnd:\t0\nCapAmb:\t0\n\
    NoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\nSpeculation_Store_Bypass:\tthread vulnerable\n\
    SpeculationIndirectBranch:\tconditional enabled\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3\n\
    Mems_allowed:\t00000000,00000001\nMems_allowed_list:\t0\nvoluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n";

/// The records of a machine with this number of tasks to a process.
struct Machine {
    tasks: Vec<abi::cpuledger_status_task>,
    processes: Vec<abi::cpuledger_status_process>,
    memories: Vec<abi::cpuledger_status_memory>,
    credentials: Vec<abi::cpuledger_status_credentials>,
    placements: Vec<abi::cpuledger_status_placement>,
}

impl Machine {
    fn new(threads: usize) -> Machine {
        let mut machine = Machine {
            tasks: Vec::new(),
            processes: Vec::new(),
            memories: Vec::new(),
            credentials: Vec::new(),
            placements: vec![placement()],
        };
        for number in 0..TASKS {
            let index = number / threads;
            if number % threads == 0 {
                machine.processes.push(process(number as i32 + 100_000, threads as u32));
                machine.memories.push(memory(number as u64));
                machine.credentials.push(credentials(number as u32));
            }
            machine.tasks.push(task(number, index as u32, machine.processes[index].process.pid));
        }
        machine
    }

    fn records(&self) -> StatusRecords<'_> {
        StatusRecords {
            tasks: &self.tasks,
            processes: &self.processes,
            memories: &self.memories,
            credentials: &self.credentials,
            placements: &self.placements,
            begin_ns: 0,
            end_ns: 0,
            lacks: 0,
        }
    }
}

fn task(number: usize, process_index: u32, pid: i32) -> abi::cpuledger_status_task {
    let tid = number as i32 + 100_000;
    abi::cpuledger_status_task {
        tid,
        pid,
        process_index,
        memory_index: process_index,
        credentials_index: process_index,
        marks: abi::CPULEDGER_STATUS_HAS_UMASK,
        comm: *b"worker thread 1\0",
        state: 1,
        umask: 0o22,
        max_fds: 256,
        namespace_tids: [tid, 0, 0, 0],
        blocked_signals: 0x8000_0000,
        voluntary_switches: 12_345 + number as u64,
        involuntary_switches: number as u64,
        exit_signal: -1,
        priority: 20,
        start_time_ns: 12_345_678_900_000 + number as u64 * 10_000_000,
        cpu_time: abi::cpuledger_cpu_time {
            runtime_ns: 55_555_555_555,
            tick_user_ns: 44_000_000_000,
            tick_system_ns: 11_000_000_000,
            ..Default::default()
        },
        minor_faults: 12_345,
        major_faults: 3,
        ..Default::default()
    }
}

fn process(pid: i32, threads: u32) -> abi::cpuledger_status_process {
    abi::cpuledger_status_process {
        process: abi::cpuledger_process { pid, ppid: 1, pgid: pid, sid: 77, threads, ..Default::default() },
        namespace_pids: [pid, 0, 0, 0],
        namespace_pgids: [pid, 0, 0, 0],
        namespace_sids: [77, 0, 0, 0],
        ignored_signals: 0x1000,
        caught_signals: 0x1_8000_4441,
        queued_signals_limit: 96_365,
        resident_limit: u64::MAX,
        ..Default::default()
    }
}

fn memory(number: u64) -> abi::cpuledger_status_memory {
    abi::cpuledger_status_memory {
        virtual_peak: 119_184 + number,
        virtual_now: 115_184 + number,
        resident_peak: 12_345,
        anonymous: 5_000 + number,
        file: 3_000,
        data: 100_000,
        stack: 33,
        executable: 1_000,
        page_table_bytes: 450_560,
        code_start: 0x5555_5555_4000,
        code_end: 0x5555_5561_2345,
        ..Default::default()
    }
}

fn credentials(number: u32) -> abi::cpuledger_status_credentials {
    let mut groups = [0; 32];
    groups[..4].copy_from_slice(&[4, 24, 27, 1_000 + number]);
    abi::cpuledger_status_credentials {
        uid: 1_000 + number,
        euid: 1_000 + number,
        suid: 1_000,
        fsuid: 1_000,
        gid: 1_000,
        egid: 1_000,
        sgid: 1_000,
        fsgid: 1_000,
        bounding: 0x1ff_ffff_ffff,
        groups,
        group_count: 4,
        ..Default::default()
    }
}

fn placement() -> abi::cpuledger_status_placement {
    let (mut cpus, mut nodes) = ([0; 16], [0; 16]);
    (cpus[0], nodes[0]) = (0xf, 1);
    abi::cpuledger_status_placement { cpus, nodes }
}

/// The same text in the obvious way: one `write!` a line.
fn write_status(records: &StatusRecords<'_>, index: usize, out: &mut Vec<u8>) -> std::io::Result<()> {
    let task = &records.tasks[index];
    let process = &records.processes[task.process_index as usize];
    let credentials = &records.credentials[task.credentials_index as usize];
    let comm = std::str::from_utf8(&task.comm).unwrap_or_default();
    writeln!(out, "Name:\t{}", comm.trim_end_matches('\0'))?;
    writeln!(out, "Umask:\t{:04o}", task.umask)?;
    writeln!(out, "State:\tS (sleeping)")?;
    writeln!(out, "Tgid:\t{}", process.process.pid)?;
    writeln!(out, "Ngid:\t{}", task.numa_group)?;
    writeln!(out, "Pid:\t{}", task.tid)?;
    writeln!(out, "PPid:\t{}", process.process.ppid)?;
    writeln!(out, "TracerPid:\t{}", task.tracer_pid)?;
    let abi::cpuledger_status_credentials { uid, euid, suid, fsuid, .. } = credentials;
    writeln!(out, "Uid:\t{uid}\t{euid}\t{suid}\t{fsuid}")?;
    let abi::cpuledger_status_credentials { gid, egid, sgid, fsgid, .. } = credentials;
    writeln!(out, "Gid:\t{gid}\t{egid}\t{sgid}\t{fsgid}")?;
    writeln!(out, "FDSize:\t{}", task.max_fds)?;
    write!(out, "Groups:\t")?;
    for group in &credentials.groups[..credentials.group_count as usize] {
        write!(out, "{group} ")?;
    }
    writeln!(out)?;
    writeln!(out, "NStgid:\t{}", process.namespace_pids[0])?;
    writeln!(out, "NSpid:\t{}", task.namespace_tids[0])?;
    writeln!(out, "NSpgid:\t{}", process.namespace_pgids[0])?;
    writeln!(out, "NSsid:\t{}", process.namespace_sids[0])?;
    writeln!(out, "Kthread:\t0")?;
    write_memory(&records.memories[task.memory_index as usize], process, out)?;
    writeln!(out, "Threads:\t{}", process.process.threads)?;
    writeln!(out, "SigQ:\t{}/{}", credentials.queued_signals, process.queued_signals_limit)?;
    writeln!(out, "SigPnd:\t{:016x}", task.pending_signals)?;
    writeln!(out, "ShdPnd:\t{:016x}", process.shared_pending_signals)?;
    writeln!(out, "SigBlk:\t{:016x}", task.blocked_signals)?;
    writeln!(out, "SigIgn:\t{:016x}", process.ignored_signals)?;
    writeln!(out, "SigCgt:\t{:016x}", process.caught_signals)?;
    writeln!(out, "CapInh:\t{:016x}", credentials.inheritable)?;
    writeln!(out, "CapPrm:\t{:016x}", credentials.permitted)?;
    writeln!(out, "CapEff:\t{:016x}", credentials.effective)?;
    writeln!(out, "CapBnd:\t{:016x}", credentials.bounding)?;
    writeln!(out, "CapAmb:\t{:016x}", credentials.ambient)?;
    writeln!(out, "NoNewPrivs:\t{}", task.atomic_flags & 1)?;
    writeln!(out, "Seccomp:\t{}", task.seccomp_mode)?;
    writeln!(out, "Seccomp_filters:\t{}", task.seccomp_filters)?;
    writeln!(out, "Speculation_Store_Bypass:\tthread vulnerable")?;
    writeln!(out, "SpeculationIndirectBranch:\tconditional enabled")?;
    let placement = &records.placements[task.placement_index as usize];
    writeln!(out, "Cpus_allowed:\t{:x}", placement.cpus[0])?;
    writeln!(out, "Cpus_allowed_list:\t{}-{}", 0, placement.cpus[0].trailing_ones() - 1)?;
    writeln!(out, "Mems_allowed:\t{:08x},{:08x}", placement.nodes[0] >> 32, placement.nodes[0] as u32)?;
    writeln!(out, "Mems_allowed_list:\t{}", placement.nodes[0].trailing_zeros())?;
    writeln!(out, "voluntary_ctxt_switches:\t{}", task.voluntary_switches)?;
    writeln!(out, "nonvoluntary_ctxt_switches:\t{}", task.involuntary_switches)
}

fn write_memory(
    memory: &abi::cpuledger_status_memory,
    process: &abi::cpuledger_status_process,
    out: &mut Vec<u8>,
) -> std::io::Result<()> {
    let resident = memory.anonymous + memory.file + memory.shmem;
    let text = (memory.code_end.next_multiple_of(4096) - (memory.code_start & !4095)) / 1024;
    for (name, pages) in [
        ("VmPeak", memory.virtual_peak.max(memory.virtual_now)),
        ("VmSize", memory.virtual_now),
        ("VmLck", memory.locked),
        ("VmPin", memory.pinned),
        ("VmHWM", memory.resident_peak.max(resident)),
        ("VmRSS", resident),
        ("RssAnon", memory.anonymous),
        ("RssFile", memory.file),
        ("RssShmem", memory.shmem),
        ("VmData", memory.data),
        ("VmStk", memory.stack),
    ] {
        writeln!(out, "{name}:\t{:8} kB", pages * 4)?;
    }
    writeln!(out, "VmExe:\t{text:8} kB")?;
    writeln!(out, "VmLib:\t{:8} kB", memory.executable * 4 - text)?;
    writeln!(out, "VmPTE:\t{:8} kB", memory.page_table_bytes / 1024)?;
    writeln!(out, "VmSwap:\t{:8} kB", memory.swap * 4)?;
    writeln!(out, "HugetlbPages:\t{:8} kB", memory.hugetlb * 4)?;
    writeln!(out, "CoreDumping:\t{}", process.dumps_core)?;
    writeln!(out, "THP_enabled:\t{}", 1)?;
    writeln!(out, "untag_mask:\t{:#x}", u64::MAX)
}

fn append_all(dialect: &Dialect, records: StatusRecords<'_>, form: Form, out: &mut Vec<u8>) {
    let mut text = KernelText::new(dialect, records);
    for index in 0..records.tasks.len() {
        assert_eq!(text.write(index, form, Whole::Task, out), Written::Done);
    }
}

fn write_all(records: &StatusRecords<'_>, out: &mut Vec<u8>) {
    for index in 0..records.tasks.len() {
        write_status(records, index, out).expect("a Vec takes it");
    }
}

fn render(criterion: &mut Criterion) {
    let dialect = Dialect::parse(SAMPLE.as_bytes());
    let mut group = criterion.benchmark_group("status text of 1,000 tasks");
    group.throughput(Throughput::Elements(TASKS as u64));
    for (name, threads) in [("threads of one process", TASKS), ("processes of one thread", 1)] {
        let machine = Machine::new(threads);
        let (mut ours, mut plain) = (Vec::new(), Vec::new());
        append_all(&dialect, machine.records(), Form::Status, &mut ours);
        write_all(&machine.records(), &mut plain);
        assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&plain));
        group.bench_function(BenchmarkId::new("appended", name), |bencher| {
            bencher.iter(|| {
                ours.clear();
                append_all(&dialect, black_box(machine.records()), Form::Status, &mut ours);
            });
        });
        group.bench_function(BenchmarkId::new("write!", name), |bencher| {
            bencher.iter(|| {
                plain.clear();
                write_all(black_box(&machine.records()), &mut plain);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, render);
criterion_main!(benches);
