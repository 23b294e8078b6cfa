//! `cpuledger-net`, which `cpuledger metrics`, `push` and `mcp` become. All of it is in the library.

use cpuledger_program::memory::OrEnd;

#[global_allocator]
static ALLOCATOR: OrEnd = OrEnd;

fn main() -> std::process::ExitCode {
    cpuledger_program::start(cpuledger_net::command::main, cpuledger_net::command::is_of_source)
}
