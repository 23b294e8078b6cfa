//! The two programs of the matrix as cargo builds them, outside of a guest. Because of this file, `cargo test --workspace` builds both of them, from the
//! crates that all other tests use.

use std::process::{Command, Output};

use cpuledger_vm::Machine;

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().expect("cargo has built it")
}

#[test]
fn a_machine_that_the_matrix_does_not_have_is_refused_with_those_that_it_has() {
    let output = run(env!("CARGO_BIN_EXE_cpuledger-vm"), &["--machine", "quantum"]);
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{said}");
    for machine in Machine::ALL {
        assert!(said.contains(machine.name()), "{} is missing: {said}", machine.name());
    }
}

#[test]
fn the_first_process_of_a_guest_does_nothing_where_it_is_not_the_first() {
    let output = run(env!("CARGO_BIN_EXE_cpuledger-vm-guest"), &[]);
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("first process of a guest"), "{said}");
    let listed = run(env!("CARGO_BIN_EXE_cpuledger-vm-guest"), &["--list"]);
    let checks = String::from_utf8(listed.stdout).expect("UTF-8");
    assert!(listed.status.success() && checks.lines().count() > 1, "{checks}");
    assert!(checks.lines().all(|line| line.ends_with(": test")), "{checks}");
}
