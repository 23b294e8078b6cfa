//! What the files of one task say, for the detail pane.

use cpuledger::TaskId;

/// What the files of a task say; a member is empty where that could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileDetail {
    /// Of which task.
    pub id: TaskId,
    /// Arguments.
    pub command_line: String,
    /// The program.
    pub program: String,
    /// Cgroups.
    pub cgroup: String,
    /// The working directory.
    pub directory: String,
    /// Open files.
    pub open_files: Option<u64>,
    /// How many bytes were asked for by read(2) and given to write(2), and how many calls there were of each.
    pub calls: Option<[u64; 4]>,
    /// Score and adjustment of the out-of-memory killer.
    pub oom: [Option<i32>; 2],
    /// Names, soft and hard limits.
    pub limits: Vec<[String; 3]>,
}
