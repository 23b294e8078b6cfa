//! What libbpf says, kept instead of printed: the verifier's last lines belong into an error, not onto the screen.

use std::collections::VecDeque;
use std::sync::{Mutex, Once};

use libbpf_rs::PrintLevel;

/// More lines than the verifier's closing summary and the instructions before the fault.
const KEPT_LINES: usize = 40;

static LINES: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

/// Starts an empty log; from the first call on libbpf prints nothing by itself.
pub(crate) fn start() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        libbpf_rs::set_print(Some((PrintLevel::Warn, keep)));
    });
    if let Ok(mut lines) = LINES.lock() {
        lines.clear();
    }
}

/// The last lines since [`start`], oldest first.
pub(crate) fn last_lines() -> Vec<String> {
    LINES.lock().map(|lines| lines.iter().cloned().collect()).unwrap_or_default()
}

fn keep(_: PrintLevel, text: String) {
    let Ok(mut lines) = LINES.lock() else { return };
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if lines.len() == KEPT_LINES {
            lines.pop_front();
        }
        lines.push_back(line.trim_end().to_owned());
    }
}
