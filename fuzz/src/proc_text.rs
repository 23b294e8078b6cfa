//! Every parser of a file of /proc and /sys.

use std::hint::black_box;

use cpuledger::source::kernel_text::Dialect;
use cpuledger_proc::task::cgroup::{self, Hierarchy};
use cpuledger_proc::task::{
    attr_current, autogroup, cmdline, io, limits, mountinfo, schedstat, smaps_rollup, stat, statm, status,
    timens_offsets, units, wchan,
};
use cpuledger_proc::{cpu_list, machine, number};

const HIERARCHIES: [Hierarchy; 4] =
    [Hierarchy::Unified, Hierarchy::Cpu, Hierarchy::CpuAccounting, Hierarchy::Systemd];

/// Hands the bytes to each of them.
pub fn parse(bytes: &[u8]) {
    black_box((stat::parse_stat(bytes), stat::parse_addresses(bytes)));
    black_box((status::parse_status(bytes), status::parse_detail(bytes)));
    black_box((status::is_numbered_as(bytes, 1), status::pid_of(bytes)));
    black_box((statm::parse_statm(bytes), schedstat::parse_schedstat(bytes), io::parse_io(bytes)));
    black_box((smaps_rollup::parse_shares(bytes), autogroup::parse_autogroup(bytes)));
    black_box((attr_current::label(bytes), wchan::wait_channel(bytes)));
    black_box(cmdline::without_trailing_nuls(bytes.to_vec()));
    black_box((number::alone::<i32>(bytes), mountinfo::hiding(bytes)));
    black_box(Dialect::parse(bytes));
    cgroup_text(bytes);
    if let Ok(text) = str::from_utf8(bytes) {
        utf8_text(text);
    }
}

fn cgroup_text(bytes: &[u8]) {
    black_box(cgroup::names(&cgroup::one_line(bytes)).len());
    black_box((units::lxc(bytes), units::docker(bytes), cgroup::path_of_cpu_time(bytes)));
    for hierarchy in HIERARCHIES {
        black_box((mountinfo::cgroup_root(bytes, hierarchy), cgroup::path_inside(bytes, hierarchy)));
        let Some(path) = cgroup::path(bytes, hierarchy) else { continue };
        for path in [path, units::below_root(path, bytes)] {
            black_box((units::slice(path), units::unit(path), units::user_unit(path)));
            black_box((units::session(path), units::owner(path)));
        }
    }
}

fn utf8_text(text: &str) {
    if let Some(list) = cpu_list::expand(text) {
        assert_eq!(cpu_list::count(text), Some(list.len() as u32), "two readings of the same list: {text:?}");
        assert_eq!(cpu_list::highest(text), list.iter().max().copied(), "{text:?}");
        assert_eq!(cpu_list::expand(&cpu_list::written(list.clone())), Some(list), "{text:?}");
    }
    black_box(machine::loadavg::parse_loadavg(text));
    black_box((machine::meminfo::parse_memory(text), machine::pressure::parse_pressure(text)));
    black_box((machine::stat::cpus(text), machine::stat::boot_time_seconds(text)));
    black_box((machine::tty_drivers::parse_drivers(text), machine::lockdown::permits_reading(text)));
    black_box((timens_offsets::are_zero(text), limits::parse_limits(text)));
}
