//! `cpuledger-export`, which `cpuledger export` becomes. All of it is in the library.

use cpuledger_program::memory::OrEnd;

#[global_allocator]
static ALLOCATOR: OrEnd = OrEnd;

fn main() -> std::process::ExitCode {
    // There are no sources.
    cpuledger_program::start(cpuledger_export::command::main, |_| false)
}
