//! Files of test vectors, which the tests of model, service and recording share.

use std::fs;
use std::path::Path;

/// Compares a file, or writes it.
pub fn compare(path: &Path, expected: &[u8]) {
    if std::env::var_os("CPULEDGER_WRITE_FIXTURE").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, expected).expect("a file");
        return;
    }
    let found = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(
        found == expected,
        "{} is another one: CPULEDGER_WRITE_FIXTURE=1 cargo test -p cpuledger-model -p cpuledger-recording -p cpuledger-service --test vectors",
        path.display()
    );
}
