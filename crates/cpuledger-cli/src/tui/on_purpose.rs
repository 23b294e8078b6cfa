//! Panics and waits that a test asks for.

use std::path::Path;
use std::time::Duration;

/// Panics where `CPULEDGER_TEST_PANIC` names this place: so a test sees that the terminal is restored. Builds for users do not
/// have it.
pub fn panic_on_purpose(place: &str) {
    if std::env::var("CPULEDGER_TEST_PANIC").is_ok_and(|wanted| wanted == place) {
        panic!("on purpose, in {place}");
    }
}

/// Waits while there is the file that `CPULEDGER_TEST_WAIT` names: so a test sees what is shown before the source is open.
pub fn wait_on_purpose() {
    while std::env::var_os("CPULEDGER_TEST_WAIT").is_some_and(|file| Path::new(&file).exists()) {
        std::thread::sleep(Duration::from_millis(10));
    }
}
