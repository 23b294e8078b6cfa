//! Panics that a test asks for.

/// Panics where `CPULEDGER_TEST_PANIC` names this place: so a test sees that the terminal is restored. Builds for users do not
/// have it.
pub fn panic_on_purpose(place: &str) {
    if std::env::var("CPULEDGER_TEST_PANIC").is_ok_and(|wanted| wanted == place) {
        panic!("on purpose, in {place}");
    }
}
