//! Processes of a snapshot of the kernel that keeps accounts. Where threads are wanted, all figures are made of the records of
//! threads: so threads and processes are of one instant.

use super::layout::Taskstats;

/// The record of a process, as one of a snapshot of processes is, from those of its threads. There is one at least.
///
/// The kernel locks the list of tasks for a batch of records, so a thread may die between those of two threads. What is told of the dead is
/// taken from the first: so no thread is counted twice.
pub fn of_threads(pid: u32, threads: &[Taskstats]) -> Taskstats {
    let first = threads.first().copied().unwrap_or_default();
    let leader = threads.iter().find(|thread| thread.tid == pid).copied().unwrap_or(first);
    let mut exact = leader.exact.unwrap_or_default();
    exact.dead = first.exact.unwrap_or_default().dead;
    exact.used = exact.dead.unwrap_or_default().threads;
    threads.iter().filter_map(|thread| thread.exact).for_each(|thread| exact.used.add(&thread.used));
    Taskstats { tid: pid, runtime_ns: exact.used.runtime_ns, exact: Some(exact), ..leader }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::netlink::layout::{Dead, Exact, Used};
    use cpuledger_model::make;

    fn thread(tid: u32, runtime_ns: u64, dead_ns: u64) -> Taskstats {
        let used = |runtime_ns| make!(Used { runtime_ns, user_ns: runtime_ns, system_ns: 0, stolen_ns: 1 });
        let dead = make!(Dead { accounting_parent: 3, threads: used(dead_ns), children: used(40) });
        let start_ns = u64::from(tid);
        let exact = Exact { start_ns, used: used(runtime_ns), dead: Some(dead), ..Exact::default() };
        Taskstats { tid, pid: Some(7), exact: Some(exact), ..Taskstats::default() }
    }

    #[test]
    fn a_process_has_the_time_of_its_threads_and_of_the_dead_ones() {
        let process = of_threads(7, &[thread(7, 10, 100), thread(8, 20, 100)]);
        assert_eq!((process.tid, process.runtime_ns), (7, 130));
        assert_eq!(process.exact.map(|exact| exact.used.cpu_ns()), Some(133));
    }

    #[test]
    fn a_thread_that_died_between_two_records_is_counted_once() {
        // 9 was read, and died before 12 was read.
        let process = of_threads(7, &[thread(9, 5, 100), thread(12, 20, 105)]);
        assert_eq!((process.tid, process.runtime_ns), (7, 125));
    }
}
