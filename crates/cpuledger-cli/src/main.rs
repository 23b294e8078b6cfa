//! The binary. All of it is in the library, so that fuzz targets reach its parsers.

use cpuledger_program::memory::OrEnd;

#[global_allocator]
static ALLOCATOR: OrEnd = OrEnd;

fn main() -> std::process::ExitCode {
    cpuledger_cli::main()
}
