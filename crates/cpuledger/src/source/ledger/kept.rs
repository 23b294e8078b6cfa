//! A ledger that outlives its process: its maps and links as descriptors, and what was remembered in user space as bytes. The process that
//! gets both goes on with the interval that is running, as if it were the same.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::{BorrowedFd, OwnedFd};

use cpuledger_bpf::ledger as kernel;
use cpuledger_client::namespace::check_namespace;
use cpuledger_model::field::FIELDS;
use cpuledger_model::source_kind::SourceKind;
use serde::{Deserialize, Serialize};

use crate::caller::caller;
use crate::error::Error;
use crate::machine;

use super::detail::{Detail, load_inspector};
use super::hidden::Hidden;
use super::limits;
use super::rows::{RowBuilder, RowMemory};
use super::{Ledger, Rest};

/// Of what is remembered. To be raised when that is written in another way, or means something else.
const FORMAT: u32 = 8;

/// What has to be the same in both processes.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Kind {
    format: u32,
    /// Of the programs and the shared records.
    layout: u64,
    /// Sets of fields are numbers.
    fields: u64,
    boot_id: Option<String>,
}

impl Kind {
    fn own() -> Kind {
        let mut hasher = DefaultHasher::new();
        FIELDS.iter().for_each(|field| field.key.hash(&mut hasher));
        Kind {
            format: FORMAT,
            layout: kernel::layout(),
            fields: hasher.finish(),
            boot_id: machine::boot_id(),
        }
    }

    /// What of another kind is in the way.
    fn difference(&self, other: &Kind) -> Option<&'static str> {
        if self.boot_id != other.boot_id {
            return Some("it is of another boot");
        }
        if self.layout != other.layout {
            return Some("its maps have another layout, or its programs are others");
        }
        (self != other).then_some("another version has written what it remembers")
    }
}

fn unusable(reason: impl ToString) -> Error {
    Error::unusable(SourceKind::Ledger, reason.to_string())
}

impl Ledger {
    /// Its maps and links, by name. As long as any process has all of them, the hooks go on. None where there is no ledger at the moment.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, BorrowedFd<'_>)> {
        self.kernel.get().into_iter().flat_map(kernel::Ledger::parts)
    }

    /// What another process needs beside the parts, to go on: [`Ledger::adopt`]. `None`: this ledger could not close an interval. It must
    /// not be read any more afterwards.
    pub fn memory(&self) -> Option<Vec<u8>> {
        let kernel = self.kernel.get()?.memory()?;
        let rest = Rest {
            may_grow: self.may_grow,
            finds_blocked: self.finds_blocked,
            remembered_limit: self.remembered_limit as u64,
            lost: self.lost,
        };
        postcard::to_stdvec(&(Kind::own(), kernel, rest, self.rows.memory())).ok()
    }

    /// Goes on with the ledger of another process: in the interval that is running, with all that is remembered of tasks.
    ///
    /// # Errors
    /// When a part is missing, it is of another boot or another version, or another process has read it since. Also as [`Ledger::open`].
    pub fn adopt(memory: &[u8], part: impl FnMut(&str) -> Option<OwnedFd>) -> Result<Ledger, Error> {
        check_namespace(SourceKind::Ledger)?;
        let (kind, memory) = postcard::take_from_bytes::<Kind>(memory).map_err(unusable)?;
        if let Some(reason) = kind.difference(&Kind::own()) {
            return Err(unusable(reason));
        }
        let (kernel, rest, rows) =
            postcard::from_bytes::<(kernel::Memory, Rest, RowMemory)>(memory).map_err(unusable)?;
        let kernel = kernel::Ledger::adopt(kernel, part)?;
        limits::check_only(&caller(), &kernel)?;
        let mut detail = Detail::open(load_inspector())?;
        let (hidden, _) = Hidden::beside(&mut detail)?;
        let rows = RowBuilder::resume(detail, rows, hidden);
        Ok(Ledger { due_walks: 1, ..Ledger::of(kernel, rows, rest) })
    }
}

#[cfg(test)]
mod tests {
    use cpuledger_model::make;
    use cpuledger_model::states::OffState;

    use super::*;
    use crate::attribution::Attribution;
    use crate::attribution::difference::lives::{Lives, Seen};
    use crate::life::Stretch;
    use crate::source::ledger::resting::RestingTasks;
    use cpuledger_model::boottime::Boottime;
    use cpuledger_model::counters::Counters;
    use cpuledger_model::interval::Blocked;
    use cpuledger_model::states::States;
    use cpuledger_model::task::{Comm, TaskId, Tid};

    fn id(tid: i32) -> TaskId {
        TaskId { tid: Tid(tid), start_time_ns: Boottime::from_ns(1) }
    }

    /// Something of each kind that is remembered.
    fn remembered() -> RowMemory {
        let mut attribution = Attribution::default();
        attribution.add(id(7), id(1));
        attribution.name(id(7), Comm::new(b"seven"), false);
        attribution.end(id(7), 50);
        let mut lives = Lives::new(Boottime::from_ns(3));
        let states = make!(States { elapsed_ns: 10, sleep_ns: 10 });
        let seen = Seen {
            number: 3,
            task: id(8),
            process: id(8),
            first_runtime_ns: 0,
            first: None,
            wall_ns: 20,
            is_running: false,
            stretch: Some(Stretch { states, begin_ns: 1, end_ns: 31, rests: OffState::Sleeps }),
            born_ns: 1,
        };
        lives.go_on(&seen, Some(&Counters::ZERO));
        lives.begin_process(id(8), &Counters::ZERO, &Counters::ZERO);
        let leader = Seen { number: 4, task: id(9), process: id(9), ..seen };
        lives.renumber(&leader, &Counters::ZERO);
        let mut resting = RestingTasks::default();
        let blocked = make!(Blocked { task: id(10), process: id(10), since_ns: Some(5) });
        resting.block(5, blocked, OffState::Io);
        (attribution, lives, resting, 60, 70)
    }

    #[test]
    fn what_is_remembered_is_written_as_its_format_says() {
        let bytes = postcard::to_stdvec(&remembered()).expect("it is written");
        let read: RowMemory = postcard::from_bytes(&bytes).expect("it is read");
        assert_eq!(postcard::to_stdvec(&read).expect("it is written"), bytes);
        // The order of maps is not the same on every machine. What counters there are is in `Kind`: those of three tasks do not count here.
        let sum = |bytes: &[u8]| bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
        let counters = postcard::to_stdvec(&Counters::ZERO).expect("they are written");
        assert_eq!(
            (FORMAT, bytes.len() - 3 * counters.len(), sum(&bytes) - 3 * sum(&counters)),
            (8, 113, 2289),
            "it is written in another way: raise FORMAT, and record this"
        );
        for length in 0..bytes.len() {
            assert!(postcard::from_bytes::<RowMemory>(&bytes[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn another_boot_layout_or_version_is_told() {
        let own = Kind::own();
        assert_eq!(own.difference(&Kind::own()), None);
        let boot = Kind { boot_id: Some("another".into()), layout: 0, ..Kind::own() };
        assert_eq!(boot.difference(&own), Some("it is of another boot"));
        let layout = Kind { layout: !own.layout, format: 0, ..Kind::own() };
        assert!(layout.difference(&own).is_some_and(|reason| reason.contains("another layout")));
        for version in
            [Kind { format: FORMAT + 1, ..Kind::own() }, Kind { fields: !own.fields, ..Kind::own() }]
        {
            assert!(version.difference(&own).is_some_and(|reason| reason.contains("another version")));
        }
    }
}
