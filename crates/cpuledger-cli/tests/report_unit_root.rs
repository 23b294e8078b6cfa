//! `report --by unit` and `ps -o unit` name the same units, on a machine with either version of cgroups or with both. Needs root.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use cpuledger_load::{Burn, BurnPlan, not_run};
use cpuledger_proc::task::cgroup::Hierarchy;
use cpuledger_proc::task::mountinfo::{cgroup_root, systemd_hierarchy};
use serde_json::Value;

/// A cgroup where systemd would have one, of a service. It is removed in the end.
struct Service(PathBuf);

impl Service {
    fn new(name: &str) -> Option<Service> {
        let mountinfo = fs::read("/proc/self/mountinfo").expect("procfs");
        let hierarchy = systemd_hierarchy(&mountinfo)?;
        let root = String::from_utf8(cgroup_root(&mountinfo, hierarchy)?).expect("UTF-8");
        let init = fs::read("/proc/1/cgroup").expect("procfs");
        assert!(matches!(hierarchy, Hierarchy::Unified | Hierarchy::Systemd) && !init.is_empty());
        let path = PathBuf::from(root).join(name);
        fs::create_dir(&path).expect("root may");
        Some(Service(path))
    }

    fn add(&self, pid: i32) {
        fs::write(self.0.join("cgroup.procs"), pid.to_string()).expect("it lives");
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Its process may still be on its way out.
        let begin = Instant::now();
        while fs::remove_dir(&self.0).is_err() && begin.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn cpuledger(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cpuledger")).args(line.split(' ')).output().expect("it runs")
}

#[test]
fn a_recording_names_units_as_ps_does_root() {
    let name = format!("cpuledger-test-{}.service", std::process::id());
    let Some(service) = Service::new(&name) else {
        return not_run("no cgroups are mounted where systemd looks for them");
    };
    let burn = Burn::start(&BurnPlan { cpu_ms: 600_000, ..BurnPlan::default() }).expect("it burns");
    service.add(burn.pid());
    let listed = cpuledger(&format!("ps -o unit= -p {}", burn.pid()));
    assert_eq!(String::from_utf8_lossy(&listed.stdout).trim(), name);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("recording");
    let recorded = cpuledger(&format!("record --interval 0.5 --duration 2 {}", path.display()));
    assert!(recorded.status.success(), "{}", String::from_utf8_lossy(&recorded.stderr));
    let self_ns = |by: &str, is_own: &dyn Fn(&Value) -> bool| {
        let report = cpuledger(&format!("report --by {by} --top 100000 --format json {}", path.display()));
        let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
        let rows = report["rows"].as_array().expect("rows");
        let row = rows.iter().find(|row| is_own(row)).unwrap_or_else(|| panic!("{report}"));
        row["self_ns"].as_u64().expect("a time")
    };
    let of_process = self_ns("process", &|row| row["pid"] == burn.pid());
    let of_unit = self_ns("unit", &|row| row["name"] == name.as_str());
    assert!(of_process > 0);
    assert_eq!(of_process, of_unit, "it is the only one of its unit");
}
