//! The binary. All of it is in the library, so that fuzz targets reach its parsers.

use cpuledger_program::memory::OrEnd;
use cpuledger_program::name_service;

#[global_allocator]
static ALLOCATOR: OrEnd = OrEnd;

fn main() -> std::process::ExitCode {
    if cfg!(target_feature = "crt-static") {
        name_service::use_files_only();
    }
    cpuledger_cli::main()
}
