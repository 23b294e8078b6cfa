//! What a recorder took, as a row of the table.

use std::collections::HashSet;

use serde::Serialize;

use crate::results::Results;
use crate::table::{Table, digits, thousands};

/// Process ids.
pub type Pids = HashSet<i32>;

/// What one recorder took.
#[derive(Debug, Serialize)]
pub struct Took {
    /// Its name in the table.
    pub subject: String,
    /// Threads that slept beside it.
    pub sleeping_threads: usize,
    /// Intervals in its files.
    pub intervals: u64,
    /// Rows in all of them.
    pub rows: u64,
    /// Length of its files.
    pub bytes: u64,
    /// For how long its CPU time was counted.
    pub seconds: f64,
    /// That time; 0: there was no process.
    pub cpu_ns: u64,
    /// The part of it that its thread for writing had. 0: it has no such thread.
    pub writer_cpu_ns: u64,
    /// The most that it had resident meanwhile.
    pub memory_bytes: u64,
    /// And before: while it took the tasks into its books.
    pub start_memory_bytes: u64,
}

impl Took {
    /// Adds a row to the table and to the raw results.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn add(&self, results: &mut Results, table: &mut Table) -> anyhow::Result<()> {
        let each = |sum: u64| sum as f64 / self.intervals.max(1) as f64;
        let bytes_a_row = self.bytes as f64 / self.rows.max(1) as f64;
        let is_process = self.cpu_ns > 0;
        let share = |cpu_ns: u64| cpu_ns as f64 / 1e7 / self.seconds;
        let writes_apart = self.writer_cpu_ns > 0;
        let memory =
            [self.memory_bytes, self.start_memory_bytes].map(|bytes| bytes as f64 / f64::from(1 << 20));
        let of_process = |value: f64| if is_process { digits(value) } else { String::new() };
        table.row([
            self.subject.clone(),
            thousands(each(self.bytes).round() as usize),
            thousands(each(self.rows).round() as usize),
            digits(bytes_a_row),
            of_process(share(self.cpu_ns)),
            if writes_apart { digits(share(self.writer_cpu_ns)) } else { String::new() },
            of_process(memory[0]),
            of_process(memory[1]),
        ]);
        results.add_any(self)
    }
}
