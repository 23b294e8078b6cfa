//! How the cells of `super::column::COLUMNS` are written: appended to a reused buffer, without format machinery.

use jiff::civil::DateTime;

use crate::file_figures as figures;
use crate::sort::Key;
use cpuledger_model::field::Value;
use cpuledger_model::task::Task;
use cpuledger_names::manner::Manner;
use cpuledger_names::row::Row;
use cpuledger_proc::escape::append_escaped;
use cpuledger_proc::signal;

const DAY_SECONDS: i64 = 24 * 60 * 60;
const ZOMBIE: u8 = b'Z';

/// Appends a number.
pub fn signed(cell: &mut Vec<u8>, number: i32) {
    cell.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends a number.
pub fn unsigned(cell: &mut Vec<u8>, number: impl itoa::Integer) {
    cell.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// The same digits as in JSON; `-` for what is not known.
pub fn value(cell: &mut Vec<u8>, shown: Value<'_>) {
    match shown {
        Value::Absent => cell.push(b'-'),
        Value::Unsigned(number) => unsigned(cell, number),
        Value::Signed(number) => unsigned(cell, number),
        Value::Letter(letter) => cell.push(letter),
        Value::Bytes(bytes) => append_escaped(cell, bytes),
    }
}

/// Appends a number in at least `width` digits or blanks.
fn padded(cell: &mut Vec<u8>, number: u64, width: usize, filler: u8) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(number).as_bytes();
    cell.extend(std::iter::repeat_n(filler, width.saturating_sub(digits.len())));
    cell.extend_from_slice(digits);
}

/// Appends the last two digits of a number.
pub fn two_digits(cell: &mut Vec<u8>, number: u64) {
    cell.extend_from_slice(&[b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8]);
}

/// Any bytes of the machine's users; `-` where there are none.
pub fn text_or_dash(row: &Row<'_>, cell: &mut Vec<u8>, text: &[u8]) {
    if text.is_empty() { cell.push(b'-') } else { row.manner().append(cell, text) }
}

/// A number; `-` where it is not known.
pub fn number_or_dash(cell: &mut Vec<u8>, number: Option<impl itoa::Integer>) {
    match number {
        Some(number) => unsigned(cell, number),
        None => cell.push(b'-'),
    }
}

/// All 16 digits of a number; `-` where it is not known.
pub fn hexadecimal_or_dash(cell: &mut Vec<u8>, number: Option<u64>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    match number {
        Some(number) => {
            cell.extend((0..16).rev().map(|place| DIGITS[(number >> (4 * place) & 15) as usize]));
        }
        None => cell.push(b'-'),
    }
}

/// In KiB; `xx` for none, as in procps.
pub fn resident_limit(row: &Row<'_>, cell: &mut Vec<u8>) {
    match figures::resident_limit_bytes(row) {
        Some(u64::MAX) => cell.extend_from_slice(b"xx"),
        Some(bytes) => padded(cell, bytes / 1024, 5, b' '),
        None => cell.push(b'-'),
    }
}

pub fn supplementary_gids(row: &Row<'_>, cell: &mut Vec<u8>) {
    list(cell, figures::groups(row), unsigned);
}

pub fn supplementary_groups(row: &Row<'_>, cell: &mut Vec<u8>) {
    list(cell, figures::groups(row), |cell, gid| group(row, cell, gid));
}

/// With commas between; `-` where there are none.
fn list(cell: &mut Vec<u8>, numbers: &[u32], write: impl Fn(&mut Vec<u8>, u32)) {
    if numbers.is_empty() {
        return cell.push(b'-');
    }
    for (index, &number) in numbers.iter().enumerate() {
        if index > 0 {
            cell.push(b',');
        }
        write(cell, number);
    }
}

/// Names of a set of signals that is written as hexadecimal digits, with commas between; `-` where it is empty.
pub fn signal_names(cell: &mut Vec<u8>) {
    let digits = str::from_utf8(cell).ok().and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let Some(set) = digits else { return };
    cell.clear();
    for number in (1..=u64::BITS).filter(|number| set >> (number - 1) & 1 != 0) {
        if !cell.is_empty() {
            cell.push(b',');
        }
        match signal::name(number) {
            Some(name) => cell.extend_from_slice(name.as_bytes()),
            None => unsigned(cell, number),
        }
    }
    if cell.is_empty() {
        cell.push(b'-');
    }
}

pub fn environment(row: &Row<'_>, cell: &mut Vec<u8>) {
    match figures::environment(row) {
        b"" => cell.push(b'-'),
        text => row.manner().append_separated(cell, text.strip_suffix(b"\0").unwrap_or(text)),
    }
}

/// The name without what terminals have in common: `1` for `tty1`, `3` for `pts/3`.
pub fn short_terminal(row: &Row<'_>, cell: &mut Vec<u8>) {
    let name = row.around.terminals.name(row.task.tty_device);
    let without =
        |name, start| str::strip_prefix(name, start).filter(|rest| !rest.is_empty()).unwrap_or(name);
    row.manner().append(cell, without(without(name, "tty"), "pts/").as_bytes());
}

const DEFUNCT: &[u8] = b" <defunct>";

/// The name; as in procps since 4.0.5, that of a zombie says so.
pub fn comm(row: &Row<'_>, cell: &mut Vec<u8>) {
    row.manner().append(cell, row.comm());
    if row.is_defunct() && row.manner() == Manner::Procps {
        cell.extend_from_slice(DEFUNCT);
    }
}

pub fn short_comm(row: &Row<'_>, cell: &mut Vec<u8>) {
    const LENGTH: usize = 8;
    let mut name = Vec::new();
    row.manner().append(&mut name, row.comm());
    crate::width::cut(&mut name, LENGTH);
    cell.append(&mut name); // behind the branches of a tree
}

pub fn args(row: &Row<'_>, cell: &mut Vec<u8>) {
    let shown = row.around.details.command_line(row.task);
    if !shown.is_empty() {
        return cell.extend_from_slice(shown);
    }
    // Those that cannot be read are in brackets too, as in procps.
    let cmdline = row.around.details.cmdline(row.task).unwrap_or_default();
    command_line(cell, row.task, Some(cmdline), row.manner());
    if row.is_defunct() && cmdline.is_empty() {
        cell.extend_from_slice(DEFUNCT);
    }
}

/// Arguments with blanks between them; `[name]` where there are none, the name where nothing is known of them.
pub fn command_line(cell: &mut Vec<u8>, task: &Task, cmdline: Option<&[u8]>, manner: Manner) {
    let has_none = task.is_kernel_thread() || task.state.0 == ZOMBIE;
    let cmdline = match cmdline {
        None if !has_none => return manner.append(cell, task.comm.as_bytes()),
        None | Some(b"") => {
            cell.push(b'[');
            manner.append(cell, task.comm.as_bytes());
            return cell.push(b']');
        }
        Some(cpuledger_names::detail::BLANK) => return cell.push(b'-'),
        Some(cmdline) => cmdline,
    };
    manner.append_separated(cell, cmdline);
}

pub fn user(row: &Row<'_>, cell: &mut Vec<u8>, uid: u32) {
    name_or_number(row, cell, row.user(uid), uid);
}

pub fn group(row: &Row<'_>, cell: &mut Vec<u8>, gid: u32) {
    name_or_number(row, cell, row.group(gid), gid);
}

fn name_or_number(row: &Row<'_>, cell: &mut Vec<u8>, name: &[u8], number: u32) {
    if name.is_empty() { unsigned(cell, number) } else { row.manner().append(cell, name) }
}

pub fn terminal(row: &Row<'_>, cell: &mut Vec<u8>) {
    row.manner().append(cell, row.around.terminals.name(row.task.tty_device).as_bytes());
}

/// What terminals are sorted by: none, pseudo-terminals by number, others by number.
pub fn terminal_key<'a>(row: &Row<'a>) -> Key<'a> {
    const PSEUDO: std::ops::RangeInclusive<u32> = 136..=143;
    let device = row.task.tty_device;
    let major = device >> 8 & 0xfff;
    let minor = u64::from(device & 0xff | device >> 12 & 0xf_ff00);
    let class: u64 = match device {
        0 => 0,
        _ if PSEUDO.contains(&major) => 1,
        _ => 2,
    };
    Key::from(class << 40 | u64::from(major) << 24 | minor)
}

pub fn stat(row: &Row<'_>, cell: &mut Vec<u8>) {
    let task = row.task;
    cell.push(task.state.0);
    let marks = [
        (task.nice < 0, b'<'),
        (task.nice > 0, b'N'),
        (task.known.contains(cpuledger_model::field::Field::Locked) && task.locked_bytes > 0, b'L'),
        (task.sid == task.pid.0, b's'),
        (task.threads > 1, b'l'),
        (task.pgid == task.tty_pgid, b'+'),
    ];
    cell.extend(marks.iter().filter(|(applies, _)| *applies).map(|(_, mark)| *mark));
}

/// Policies that have a nice value: SCHED_OTHER and SCHED_BATCH.
const NICE_POLICIES: [u32; 2] = [0, 3];

pub fn nice(row: &Row<'_>, cell: &mut Vec<u8>) {
    if NICE_POLICIES.contains(&row.task.policy) { signed(cell, row.task.nice) } else { cell.push(b'-') }
}

pub fn real_time_priority(row: &Row<'_>, cell: &mut Vec<u8>) {
    if row.task.policy == 0 { cell.push(b'-') } else { unsigned(cell, row.task.rt_priority) }
}

pub fn class(row: &Row<'_>, cell: &mut Vec<u8>) {
    const CLASSES: [&str; 7] = ["TS", "FF", "RR", "B", "ISO", "IDL", "DLN"];
    match CLASSES.get(row.task.policy as usize) {
        Some(name) => cell.extend_from_slice(name.as_bytes()),
        None => {
            cell.push(b'#');
            unsigned(cell, row.task.policy);
        }
    }
}

pub fn running_on(row: &Row<'_>, cell: &mut Vec<u8>) {
    if row.task.state.0 == b'R' { unsigned(cell, row.task.processor) } else { cell.push(b'*') }
}

pub fn time(row: &Row<'_>, cell: &mut Vec<u8>) {
    clock(cell, row.cpu_seconds(), true);
}

pub fn elapsed(row: &Row<'_>, cell: &mut Vec<u8>) {
    clock(cell, row.elapsed_seconds(), false);
}

/// `[days-]hh:mm:ss`; without hours, where these may be left out and there are none.
fn clock(cell: &mut Vec<u8>, seconds: u64, has_hours: bool) {
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    if days > 0 {
        unsigned(cell, days);
        cell.push(b'-');
    }
    if has_hours || seconds >= 3600 {
        two_digits(cell, hours);
        cell.push(b':');
    }
    two_digits(cell, seconds / 60 % 60);
    cell.push(b':');
    two_digits(cell, seconds % 60);
}

pub fn bsd_time(row: &Row<'_>, cell: &mut Vec<u8>) {
    let seconds = row.cpu_seconds();
    padded(cell, seconds / 60, 3, b' ');
    cell.push(b':');
    two_digits(cell, seconds % 60);
}

pub fn cpu_percent(row: &Row<'_>, cell: &mut Vec<u8>) {
    let per_mille = row.cpu_per_mille();
    unsigned(cell, per_mille / 10);
    if per_mille < 1000 {
        cell.push(b'.');
        unsigned(cell, per_mille % 10);
    }
}

pub fn cpu_whole_percent(row: &Row<'_>, cell: &mut Vec<u8>) {
    padded(cell, (row.cpu_per_mille() / 10).min(99), 2, b' ');
}

pub fn cpu_per_mille(row: &Row<'_>, cell: &mut Vec<u8>) {
    padded(cell, row.cpu_per_mille().min(999), 3, b' ');
}

/// CPU time in percent of the time since the start with three decimals, below 100.
pub fn utilization(row: &Row<'_>, cell: &mut Vec<u8>, ticks: u64) {
    let elapsed = row.elapsed_ticks();
    let thousandths = (ticks * 100_000 + elapsed / 2).checked_div(elapsed).unwrap_or(0);
    let shown = if thousandths > 99_000 { 99_999 } else { thousandths };
    unsigned(cell, shown / 1000);
    cell.push(b'.');
    padded(cell, shown % 1000, 3, b'0');
}

pub fn memory_percent(row: &Row<'_>, cell: &mut Vec<u8>) {
    let Some(total) = row.around.machine.memory_total_bytes else { return cell.push(b'-') };
    let per_mille = u128::from(row.task.rss_bytes) * 1000 / u128::from(total.max(1));
    let shown = per_mille.min(999) as u64;
    padded(cell, shown / 10, 2, b' ');
    cell.push(b'.');
    unsigned(cell, shown % 10);
}

fn month(date: DateTime) -> &'static [u8] {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    MONTHS[(date.month() - 1) as usize].as_bytes()
}

fn hours_and_minutes(cell: &mut Vec<u8>, date: DateTime) {
    two_digits(cell, date.hour() as u64);
    cell.push(b':');
    two_digits(cell, date.minute() as u64);
}

fn month_and_day(cell: &mut Vec<u8>, date: DateTime, separator: &[u8], filler: u8) {
    cell.extend_from_slice(month(date));
    cell.extend_from_slice(separator);
    padded(cell, date.day() as u64, 2, filler);
}

pub fn long_start(row: &Row<'_>, cell: &mut Vec<u8>) {
    let date = row.around.machine.local(row.started_at());
    let format = row.around.date_format.as_deref();
    match format.and_then(|format| jiff::fmt::strtime::format(format, date).ok()) {
        Some(text) => row.manner().append(cell, text.as_bytes()),
        None => cell.extend_from_slice(date.strftime("%a %b %e %H:%M:%S %Y").to_string().as_bytes()),
    }
}

pub fn start(row: &Row<'_>, cell: &mut Vec<u8>) {
    let started_at = row.started_at();
    let date = row.around.machine.local(started_at);
    if started_at + DAY_SECONDS > row.around.machine.now_seconds {
        hours_and_minutes(cell, date);
        cell.push(b':');
        two_digits(cell, date.second() as u64);
    } else {
        cell.extend_from_slice(b"  ");
        month_and_day(cell, date, b" ", b'0');
    }
}

pub fn start_day_or_time(row: &Row<'_>, cell: &mut Vec<u8>) {
    let machine = &row.around.machine;
    let (date, now) = (machine.local(row.started_at()), machine.local(machine.now_seconds));
    if date.year() != now.year() {
        unsigned(cell, date.year());
    } else if date.day_of_year() != now.day_of_year() {
        month_and_day(cell, date, b"", b'0');
    } else {
        hours_and_minutes(cell, date);
    }
}

pub fn bsd_start(row: &Row<'_>, cell: &mut Vec<u8>) {
    let started_at = row.started_at();
    let date = row.around.machine.local(started_at);
    if row.around.machine.now_seconds - started_at > DAY_SECONDS {
        month_and_day(cell, date, b" ", b' ');
    } else {
        cell.push(b' ');
        hours_and_minutes(cell, date);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::make;
    use cpuledger_model::task::{Comm, State, flags};

    #[test]
    fn signals_have_names() {
        for (digits, names) in
            [("0000000000000006", "INT,QUIT"), ("8000000000000100", "KILL,64"), ("0", "-"), ("-", "-")]
        {
            let mut cell = digits.as_bytes().to_vec();
            signal_names(&mut cell);
            assert_eq!(String::from_utf8_lossy(&cell), names);
        }
    }

    #[test]
    fn brackets_are_for_those_without_arguments() {
        let user = make!(Task { comm: Comm::new(b"sh"), state: State(b'S') });
        let zombie = make!(Task { state: State(b'Z'), ..user });
        let kernel = make!(Task { flags: flags::KTHREAD, ..user });
        for (task, cmdline, expected) in [
            (&user, None, "sh"),
            (&user, Some(&b""[..]), "[sh]"),
            (&user, Some(b"\0"), "-"),
            (&user, Some(b"sh\0-c\0a\nb"), r"sh -c a\nb"),
            (&zombie, None, "[sh]"),
            (&kernel, None, "[sh]"),
        ] {
            let mut cell = Vec::new();
            command_line(&mut cell, task, cmdline, Manner::Exact);
            assert_eq!(String::from_utf8_lossy(&cell), expected);
        }
    }
}
