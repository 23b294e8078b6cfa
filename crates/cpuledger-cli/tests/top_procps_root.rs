//! `top` as scripts know it, on the ledger: what its lines sum up to. Needs root.

use std::process::{Command, Stdio};

fn number(word: &str) -> f64 {
    word.trim_end_matches(['%', ',']).parse().unwrap_or_else(|_| panic!("`{word}` is no number"))
}

#[test]
fn rows_add_up_to_the_balance_root() {
    let mut spinner = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("sh runs");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpuledger"));
    command.args(["top", "--procps", "--source", "ledger", "-b", "-n", "3", "-d", "0.3", "-w", "512"]);
    let output = command.stdin(Stdio::null()).output().expect("cpuledger runs");
    let runtime_ns = cpuledger_load::runtime_ns(spinner.id().cast_signed()).expect("it lives");
    spinner.kill().expect("it is our child");
    spinner.wait().expect("it is our child");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), errors.as_str()), (Some(0), ""), "it needs root");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let iterations: Vec<Vec<&str>> = text.split("\n\n").map(|page| page.lines().collect()).collect();
    assert_eq!(iterations.len(), 3);
    assert!(iterations[0][5].starts_with("Balance: from the second iteration on"), "{}", iterations[0][5]);
    let mut last_time = 0.0;
    for lines in &iterations {
        let tasks: Vec<&str> = lines[1].split_whitespace().collect();
        assert_eq!(number(tasks[1]) as usize, lines.len() - 7, "a row for each of {}", lines[1]);
        let rows: Vec<Vec<&str>> = lines[7..].iter().map(|line| line.split_whitespace().collect()).collect();
        let id = spinner.id().to_string();
        let row = rows.iter().find(|row| row[0] == id).expect("the spinner has a row");
        let (minutes, seconds) = row[10].split_once(':').expect("minutes and seconds");
        let time = number(minutes) * 60.0 + number(seconds);
        assert!(time >= last_time, "{row:?}");
        last_time = time;
    }
    // The scheduler has counted at least as much when it was asked later.
    assert!(last_time > 0.0 && last_time <= runtime_ns as f64 / 1e9, "{last_time} s, {runtime_ns} ns");
    for lines in &iterations[1..] {
        // Balance: attributed A% + idle B% + unattributed U% = C% of D s, ledger; 0 ns unattributed
        let words: Vec<&str> = lines[5].split_whitespace().collect();
        let (attributed, idle, whole) = (number(words[2]), number(words[5]), number(words[10]));
        assert_eq!((words[8], words[14], words[15]), ("0.000%", "ledger;", "0"), "{}", lines[5]);
        // As printed they add up.
        assert!((whole - attributed - idle).abs() < 0.0005, "{}", lines[5]);
        assert_eq!(whole, 100.0 * f64::from(cpuledger::machine::online_cpus()));
        let rows = &lines[7..];
        let sum: f64 = rows.iter().map(|row| number(row.split_whitespace().nth(8).expect("%CPU"))).sum();
        // Each row is rounded to a tenth.
        let error = 0.05 * rows.len() as f64;
        assert!((sum - attributed).abs() <= error, "{sum} of {attributed}");
        let cpu: f64 = lines[2]["%Cpu(s):".len()..]
            .split(',')
            .map(|part| number(part.split_whitespace().next().expect("a figure")))
            .sum();
        assert!((99.5..100.5).contains(&cpu), "{}", lines[2]);
    }
}
