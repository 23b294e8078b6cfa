//! The short form of the comparison with the kernel's own counts: five programs in cgroups of their own. Needs root.

use std::process::Command;

#[test]
fn the_ledger_says_of_programs_what_the_kernel_counts_root() {
    let output = Command::new(env!("CARGO_BIN_EXE_cpuledger-bench"))
        .args(["truth", "--short", "--check", "--seconds", "3"])
        .output()
        .expect("it runs");
    let (said, printed) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    println!("{said}{printed}");
    assert!(output.status.success(), "{said}");
    if let Some(missing) = printed.lines().find(|line| line.contains("HAS NOT RUN")) {
        cpuledger_load::not_run(missing);
    }
    assert!(said.lines().filter(|line| line.contains("ns a switch")).count() >= 4, "{said}");
}
