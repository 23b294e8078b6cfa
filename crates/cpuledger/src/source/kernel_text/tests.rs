//! Texts of made-up records: what the tasks of one machine cannot show at once.

use cpuledger_bpf::{StatusRecords, abi};

use super::{Dialect, Form, KernelText, Whole, Written};

const SAMPLE: &[u8] = b"Name:\tx\nUmask:\t0022\nState:\tR (running)\nPid:\t1\nUid:\t0\t0\t0\t0\nGroups:\t \nNSpid:\t1\n\
    VmPeak:\t 1 kB\nVmHWM:\t 1 kB\nVmExe:\t 1 kB\nVmLib:\t 1 kB\nTHP_enabled:\t1\nuntag_mask:\t0xffffffffffffffff\n\
    SigQ:\t0/1\nSigBlk:\t0\nCapEff:\t0\nSpeculation_Store_Bypass:\tthread vulnerable\n\
    SpeculationIndirectBranch:\tconditional enabled\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\nMems_allowed:\t00000001\n\
    x86_Thread_features:\t\n";

/// One process of two threads, and a worker of the kernel.
struct Records {
    tasks: [abi::cpuledger_status_task; 3],
    processes: [abi::cpuledger_status_process; 2],
    memories: [abi::cpuledger_status_memory; 1],
    credentials: [abi::cpuledger_status_credentials; 1],
    placements: [abi::cpuledger_status_placement; 1],
}

impl Records {
    fn new() -> Records {
        let mut records = Records {
            tasks: Default::default(),
            processes: Default::default(),
            memories: Default::default(),
            credentials: Default::default(),
            placements: Default::default(),
        };
        for (index, (tid, pid)) in [(7, 7), (8, 7), (9, 9)].into_iter().enumerate() {
            let task = &mut records.tasks[index];
            (task.tid, task.pid, task.process_index) = (tid, pid, (pid == 9).into());
            task.comm = *b"two\nlines \\\0\0\0\0\0";
            (task.state, task.umask, task.marks) = (1, 0o27, abi::CPULEDGER_STATUS_HAS_UMASK);
            (task.namespace_tids, task.namespace_level) = ([tid, 1, 0, 0], 1);
        }
        let worker = &mut records.tasks[2];
        worker.memory_index = abi::CPULEDGER_STATUS_NONE;
        worker.flags = cpuledger_model::task::flags::KTHREAD | cpuledger_model::task::flags::WORKQUEUE_WORKER;
        worker.comm = *b"kworker/0:1\0\0\0\0\0";
        (worker.state, worker.marks) = (0x402, 0);
        records.processes[0].process.pid = 7;
        records.processes[0].process.threads = 2;
        records.processes[1].process.pid = 9;
        records.processes[1].process.flags = records.tasks[2].flags;
        records.processes[1].process.is_worker = 1;
        records.processes[1].process.worker_description[..6].copy_from_slice(b"events");
        let memory = &mut records.memories[0];
        (memory.virtual_peak, memory.virtual_now, memory.anonymous, memory.executable) = (2, 25, 7, 1);
        (memory.code_start, memory.code_end) = (0x400_100, 0x402_001);
        records.credentials[0].euid = 4_294_967_295;
        records.credentials[0].effective = 0x1ff;
        records.placements[0].cpus[0] = u64::MAX;
        records
    }

    fn all(&self) -> StatusRecords<'_> {
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

    /// The texts of all three, by one renderer.
    fn texts(&self, dialect: &Dialect, form: Form, whole: Whole) -> Vec<Option<String>> {
        let mut texts = KernelText::new(dialect, self.all());
        let text = |task| {
            let mut out = Vec::new();
            let written = texts.write(task, form, whole, &mut out);
            assert_eq!(written == Written::AskKernel, out.is_empty());
            (written == Written::Done).then(|| String::from_utf8_lossy(&out).into_owned())
        };
        (0..self.tasks.len()).map(text).collect()
    }
}

fn dialect() -> Dialect {
    let mut dialect = Dialect::parse(SAMPLE);
    dialect.cpus = 2;
    dialect
}

#[test]
fn lines_are_those_that_the_kernel_prints() {
    let mut records = Records::new();
    records.tasks[1].atomic_flags = 1 << 4 | 1 << 5;
    records.tasks[1].blocked_signals = 1 << 63;
    records.tasks[1].thread_features = 3;
    let texts = records.texts(&dialect(), Form::Status, Whole::Task);
    let rest = "Uid:\t0\t4294967295\t0\t0\nGroups:\t \n";
    let memory = "VmPeak:\t     100 kB\nVmHWM:\t      28 kB\nVmExe:\t       4 kB\nVmLib:\t       0 kB\nTHP_enabled:\t1\n\
        untag_mask:\t0xffffffffffffffff\n";
    let place = "Cpus_allowed:\t3\nCpus_allowed_list:\t0-1\nMems_allowed:\t00000000\n";
    let of_process = |tid: i32, blocked: &str, bypass: &str, branch: &str, features: &str| {
        format!(
            "Name:\ttwo\\nlines \\\\\nUmask:\t0027\nState:\tS (sleeping)\nPid:\t{tid}\n{rest}NSpid:\t{tid}\t1\n{memory}\
             SigQ:\t0/0\nSigBlk:\t{blocked}\nCapEff:\t00000000000001ff\nSpeculation_Store_Bypass:\t{bypass}\n\
             SpeculationIndirectBranch:\t{branch}\n{place}x86_Thread_features:\t{features}\n"
        )
    };
    let plain = of_process(7, "0000000000000000", "thread vulnerable", "conditional enabled", "");
    let odd =
        of_process(8, "8000000000000000", "thread force mitigated", "conditional disabled", "shstk wrss ");
    assert_eq!(texts[0].as_deref(), Some(plain.as_str()));
    assert_eq!(texts[1].as_deref(), Some(odd.as_str()));
    let worker = texts[2].as_deref().expect("a text");
    assert!(worker.starts_with("Name:\tkworker/0:1-events\nState:\tI (idle)\nPid:\t9\n"), "{worker}");
    assert!(!worker.contains("Vm") && !worker.contains("THP_enabled"), "{worker}");
}

/// The text that is kept from one task to the next is not taken for that of another.
#[test]
fn what_is_kept_is_rendered_anew_when_it_changes() {
    let mut records = Records::new();
    let before = records.texts(&dialect(), Form::Status, Whole::Task);
    records.tasks.reverse();
    let mut reversed = records.texts(&dialect(), Form::Status, Whole::Task);
    reversed.reverse();
    assert_eq!(before, reversed);
}

#[test]
fn what_records_cannot_hold_is_left_to_the_kernel() {
    let mut records = Records::new();
    records.memories[0].marks = abi::CPULEDGER_STATUS_BEYOND;
    let texts = records.texts(&dialect(), Form::Status, Whole::Task);
    assert_eq!(texts.iter().map(Option::is_some).collect::<Vec<_>>(), [false, false, true]);
    let mut records = Records::new();
    records.tasks[0].credentials_index = 5;
    records.tasks[1].pid = 5;
    records.tasks[2].placement_index = abi::CPULEDGER_STATUS_NONE;
    assert_eq!(records.texts(&dialect(), Form::Status, Whole::Task), [None, None, None]);
}

#[test]
fn addresses_are_shown_to_a_user_that_may_trace() {
    let mut records = Records::new();
    records.tasks[0].exit_code = 9;
    let mut dialect = dialect();
    let words = |dialect: &Dialect| -> Vec<String> {
        let texts = records.texts(dialect, Form::Stat, Whole::Task);
        let line = texts[0].clone().expect("a line");
        let (_, rest) = line.trim_end().rsplit_once(") ").expect("a name");
        rest.split(' ').map(str::to_owned).collect()
    };
    let seen = words(&dialect);
    assert_eq!(seen.len(), 50);
    assert_eq!((seen[23].as_str(), seen[24].as_str()), ("4194560", "4202497"));
    assert_eq!((seen[32].as_str(), seen[49].as_str()), ("1", "9"));
    dialect.sees_addresses = false;
    let hidden = words(&dialect);
    assert_eq!((hidden[23].as_str(), hidden[24].as_str()), ("1", "1"));
    assert_eq!((hidden[32].as_str(), hidden[49].as_str()), ("0", "0"));
}

#[test]
fn sums_of_a_process_are_shown_where_there_are_any() {
    let mut records = Records::new();
    assert_eq!(records.texts(&dialect(), Form::Stat, Whole::Process), [None, None, None]);
    records.processes[0].process.totals_known = 1;
    records.processes[0].process.group.activity.minor_faults = 77;
    let whole = records.texts(&dialect(), Form::Stat, Whole::Process)[0].clone().expect("a line");
    let one = records.texts(&dialect(), Form::Stat, Whole::Task)[0].clone().expect("a line");
    assert!(whole.contains(" 0 77 0 0 0 ") && !one.contains("77"), "{whole}{one}");
    let sizes = records.texts(&dialect(), Form::Statm, Whole::Task);
    assert_eq!(sizes[0].as_deref(), Some("25 7 0 3 0 0 0\n"));
    assert_eq!(sizes[2].as_deref(), Some("0 0 0 0 0 0 0\n"));
}

/// `cpuledger status`: each form, of processes and of tasks.
#[test]
fn texts_are_recorded() {
    let mut records = Records::new();
    records.processes.iter_mut().for_each(|process| process.process.totals_known = 1);
    let mut transcript = cpuledger_load::Transcript::default();
    for form in Form::ALL {
        for (whole, options) in [(Whole::Process, ""), (Whole::Task, " -H")] {
            for (index, text) in records.texts(&dialect(), form, whole).into_iter().enumerate() {
                let text = text.unwrap_or_else(|| "(the text of the kernel)".to_owned());
                transcript
                    .add(&format!("status -e{options} --as {form}   # record {index}"), text.as_bytes());
            }
        }
    }
    transcript.assert_recorded("status");
}
