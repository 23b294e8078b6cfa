//! The columns of a report: one table for text, JSON and CSV.

use cpuledger_report::Amounts;

/// How the text has a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Nanoseconds, in seconds.
    Seconds,
    /// Nanoseconds, in percent of the capacity.
    Share,
    /// A number.
    Count,
    /// Bytes, with the unit that suits them.
    Size,
}

/// What has to be read for a figure beside what each report reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// Counters of the living.
    Counters,
    /// What the living did off the CPU.
    States,
}

/// A column.
#[derive(Debug)]
pub struct Column {
    /// Its key in JSON and CSV.
    pub key: &'static str,
    /// Its header in text, as `top` has it for the same.
    pub header: &'static str,
    /// Its width there.
    pub width: usize,
    /// How text has it.
    pub form: Form,
    /// What has to be read for it.
    pub needs: Needs,
}

impl PartialEq for Column {
    fn eq(&self, other: &Column) -> bool {
        self.header == other.header
    }
}

const fn column(key: &'static str, header: &'static str, width: usize, form: Form, needs: Needs) -> Column {
    Column { key, header, width, form, needs }
}

use Form::{Count, Seconds, Share, Size};
use Needs::{Counters, Nothing, States};

/// All of them. Each figure of [`Amounts::all_figures`] has one.
pub static COLUMNS: [Column; 32] = [
    column("self_ns", "SELF", 12, Seconds, Nothing),
    column("self_ns", "%CAP", 6, Share, Nothing),
    column("inherited_ns", "INHERITED", 12, Seconds, Nothing),
    column("unidentified_ns", "UNIDENTIFIED", 12, Seconds, Nothing),
    column("runqueue_wait_ns", "WAIT", 11, Seconds, Nothing),
    column("stolen_ns", "STOLEN", 10, Seconds, Nothing),
    column("inherited_stolen_ns", "C.STL", 10, Seconds, Nothing),
    column("minor_faults", "MINFLT", 9, Count, Nothing),
    column("major_faults", "MAJFLT", 7, Count, Nothing),
    column("births", "BORN", 7, Count, Nothing),
    column("deaths", "DIED", 7, Count, Nothing),
    column("network_sent_bytes", "SENT", 8, Size, Nothing),
    column("network_received_bytes", "RECV", 8, Size, Nothing),
    column("unix_sent_bytes", "U.SENT", 8, Size, Nothing),
    column("unix_received_bytes", "U.RECV", 8, Size, Nothing),
    column("wait_caused_ns", "CAUSED", 11, Seconds, Nothing),
    column("wait_suffered_ns", "SUFFERED", 11, Seconds, Nothing),
    column("disk_read_bytes", "D.READ", 8, Size, Nothing),
    column("disk_written_bytes", "D.WRITE", 8, Size, Nothing),
    column("user_ns", "USR", 12, Seconds, Counters),
    column("system_ns", "SYS", 12, Seconds, Counters),
    column("rss_peak_bytes", "RSSPEAK", 8, Size, Counters),
    column("read_bytes", "READ", 8, Size, Counters),
    column("write_bytes", "WRITE", 8, Size, Counters),
    column("voluntary_switches", "VCSW", 9, Count, Counters),
    column("involuntary_switches", "ICSW", 9, Count, Counters),
    column("elapsed_ns", "ALIVE", 13, Seconds, States),
    column("blocked_ns", "BLK", 12, Seconds, States),
    column("io_wait_ns", "IO", 12, Seconds, States),
    column("sleep_ns", "SLP", 13, Seconds, States),
    column("stopped_ns", "STOP", 12, Seconds, States),
    column("unseen_ns", "UNSEEN", 12, Seconds, States),
];

/// What text shows if nothing is said; what it shows besides, where the account was kept; and the view of waits.
const USUAL: [&str; 9] = ["SELF", "%CAP", "INHERITED", "WAIT", "STOLEN", "MINFLT", "MAJFLT", "BORN", "DIED"];
const OF_ACCOUNTS: [&str; 4] = ["SENT", "RECV", "D.READ", "D.WRITE"];
const OF_WAITS: [&str; 7] = ["ALIVE", "SELF", "WAIT", "BLK", "IO", "SLP", "STOP"];

impl Column {
    /// By the header, whatever its case, or by the key.
    pub fn by_name(name: &str) -> Option<&'static Column> {
        let headed = COLUMNS.iter().find(|column| column.header.eq_ignore_ascii_case(name));
        headed.or_else(|| COLUMNS.iter().find(|column| column.key == name))
    }

    /// Those of text if none are asked for: all that have figures.
    pub(super) fn usual(total: &Amounts) -> Vec<&'static Column> {
        let is_kept = |column: &&Column| column.value(total).is_some();
        let usual = USUAL.iter().filter_map(|name| Column::by_name(name));
        usual.chain(OF_ACCOUNTS.iter().filter_map(|name| Column::by_name(name)).filter(is_kept)).collect()
    }

    /// Those of the view of waits.
    pub fn of_waits() -> Vec<&'static Column> {
        OF_WAITS.iter().filter_map(|name| Column::by_name(name)).collect()
    }

    /// Its figure; `None`: not known.
    pub(super) fn value(&self, amounts: &Amounts) -> Option<u64> {
        amounts.all_figures().find(|(key, _)| *key == self.key).and_then(|(_, value)| value)
    }
}

/// The figures of these columns, each once, or all of them where none are asked for.
pub(super) fn figures(columns: &[&'static Column], amounts: &Amounts) -> Vec<(&'static str, Option<u64>)> {
    if columns.is_empty() {
        return amounts.all_figures().collect();
    }
    let mut figures: Vec<(&'static str, Option<u64>)> = Vec::new();
    for column in columns {
        if figures.iter().all(|(key, _)| *key != column.key) {
            figures.push((column.key, column.value(amounts)));
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpuledger_model::make;

    #[test]
    fn every_figure_has_a_column_and_every_column_a_figure() {
        let keys: Vec<&str> = Amounts::default().all_figures().map(|(key, _)| key).collect();
        for key in &keys {
            assert!(Column::by_name(key).is_some(), "{key}");
        }
        for column in &COLUMNS {
            assert!(keys.contains(&column.key), "{}", column.key);
            assert_eq!(Column::by_name(&column.header.to_lowercase()), Some(column));
        }
        let kept = make!(Amounts { booked: [Some(0); 8] });
        let headers =
            |columns: Vec<&'static Column>| columns.iter().map(|column| column.header).collect::<Vec<_>>();
        assert_eq!(headers(Column::usual(&kept)), [&USUAL[..], &OF_ACCOUNTS].concat());
        assert_eq!(headers(Column::usual(&Amounts::default())), USUAL);
        assert_eq!(headers(Column::of_waits()), OF_WAITS);
        assert_eq!(figures(&[&COLUMNS[1], &COLUMNS[0]], &Amounts::default()), [("self_ns", Some(0))]);
    }
}
