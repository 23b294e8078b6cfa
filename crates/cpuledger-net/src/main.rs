//! `cpuledger-net`, which `cpuledger metrics`, `push`, `mcp` and `web` become. All of it is in the library.

use cpuledger_program::memory::OrEnd;
use cpuledger_program::name_service;

#[global_allocator]
static ALLOCATOR: OrEnd = OrEnd;

fn main() -> std::process::ExitCode {
    if cfg!(target_feature = "crt-static") {
        name_service::use_files_only();
    }
    cpuledger_program::start(cpuledger_net::command::main, cpuledger_net::command::is_of_source)
}
