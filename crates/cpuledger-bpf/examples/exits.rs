//! Watches deaths for a second: `cargo run --release --example exits`.
use cpuledger_bpf::{Drained, ExitHook};
fn main() {
    let mut hook = ExitHook::attach().unwrap_or_else(|error| {
        eprintln!("{error}\n{}", error.log().join("\n"));
        std::process::exit(1)
    });
    let mut drained = Drained::default();
    for _ in 0..2 {
        std::thread::sleep(std::time::Duration::from_secs(1));
        hook.drain(&mut drained).unwrap();
        println!("{} exits, {} folds", drained.exits.len(), drained.folds.len());
        for e in drained.exits.iter().take(3) {
            println!("{e:?}");
        }
    }
}
