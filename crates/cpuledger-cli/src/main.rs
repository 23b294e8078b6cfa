//! The binary. All of it is in the library, so that fuzz targets reach its parsers.

fn main() -> std::process::ExitCode {
    cpuledger_cli::main()
}
