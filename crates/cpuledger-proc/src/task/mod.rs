//! Files of one task: `/proc/PID/…` and `/proc/PID/task/TID/…`.

pub mod attr_current;
pub mod autogroup;
pub mod cgroup;
pub mod cmdline;
pub mod containers;
pub mod io;
pub mod limits;
pub mod mountinfo;
pub mod schedstat;
pub mod smaps_rollup;
pub mod stat;
pub mod statm;
pub mod status;
pub mod timens_offsets;
pub mod units;
pub mod wchan;
