//! Names of commands, each kept once, and as long as something is called by it.

use std::sync::Arc;

use cpuledger_model::frame::{Column, Frame, Section};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The number of a name; the greatest: it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Comm(u32);

impl Comm {
    pub(crate) const UNKNOWN: Comm = Comm(u32::MAX);
}

/// What a name takes beside its text: a place in the table of numbers, one by its number, and the allocation.
const BESIDE_BYTES: usize = 64;

/// Memory of names below which none is forgotten: of some 100,000 commands.
pub(crate) const LEAST_BYTES: usize = 8 << 20;

/// The names by their numbers. They have at most 15 bytes in the kernel, and as many as a frame lets them have here.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    numbers: FxHashMap<Arc<[u8]>, Comm>,
    texts: Vec<Arc<[u8]>>,
    bytes: usize,
    /// Of that: what stayed when names were forgotten last.
    kept_bytes: usize,
    /// The number here of each text of the frame that is read.
    of_frame: Vec<Option<Comm>>,
}

impl Names {
    /// Another frame begins.
    pub(crate) fn begin(&mut self) {
        self.of_frame.clear();
    }

    /// The name of a row.
    pub(crate) fn of_row(&mut self, frame: &Frame, section: Section, row: usize) -> Comm {
        match frame.table(section).get(Column::COMM, row) {
            Some(number) => self.of_text(frame, number),
            None => Comm::UNKNOWN,
        }
    }

    /// The name that is the text of this number in the frame.
    pub(crate) fn of_text(&mut self, frame: &Frame, number: u64) -> Comm {
        let place = number as usize;
        if let Some(Some(comm)) = self.of_frame.get(place) {
            return *comm;
        }
        let Some(text) = frame.text(number) else { return Comm::UNKNOWN };
        let comm = self.intern(text);
        if self.of_frame.len() <= place {
            self.of_frame.resize(place + 1, None);
        }
        self.of_frame[place] = Some(comm);
        comm
    }

    /// The number of a name, which is added if it is new.
    pub(crate) fn intern(&mut self, text: &[u8]) -> Comm {
        if let Some(comm) = self.numbers.get(text) {
            return *comm;
        }
        let comm = Comm(self.texts.len() as u32);
        let text: Arc<[u8]> = text.into();
        self.bytes += text.len() + BESIDE_BYTES;
        self.texts.push(Arc::clone(&text));
        self.numbers.insert(text, comm);
        comm
    }

    /// What they take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What they may take until it is looked which are used: twice of what stayed last, so that costs little for each name.
    pub(crate) fn most_bytes(&self) -> usize {
        LEAST_BYTES.max(2 * self.kept_bytes)
    }

    /// Forgets those that are not used. The others get new numbers, in the same order.
    pub(crate) fn keep(&mut self, used: &Used) -> Renumbered {
        let mut own = Names::default();
        let all = std::mem::take(&mut self.texts).into_iter().enumerate();
        let renumbered = all.map(|(number, text)| match used.0.get(number) {
            Some(true) => own.intern(&text),
            _ => Comm::UNKNOWN,
        });
        let renumbered = Renumbered(renumbered.collect());
        own.kept_bytes = own.bytes;
        *self = own;
        renumbered
    }

    /// The text of a name.
    pub(crate) fn text(&self, comm: Comm) -> Option<Vec<u8>> {
        self.texts.get(comm.0 as usize).map(|text| text.to_vec())
    }

    /// The numbers here of the names that another has: in the order of these.
    pub(crate) fn take(&mut self, other: &Names) -> Renumbered {
        self.intern_all(other.texts())
    }

    /// The numbers of names, in their order.
    pub(crate) fn intern_all(&mut self, texts: impl IntoIterator<Item: AsRef<[u8]>>) -> Renumbered {
        Renumbered(texts.into_iter().map(|text| self.intern(text.as_ref())).collect())
    }

    /// All names, by their numbers.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.texts.iter().map(|text| &**text)
    }
}

/// Which names are used.
#[derive(Debug, Default)]
pub(crate) struct Used(Vec<bool>);

impl Used {
    pub(crate) fn add(&mut self, comm: Comm) {
        if comm == Comm::UNKNOWN {
            return;
        }
        let place = comm.0 as usize;
        if self.0.len() <= place {
            self.0.resize(place + 1, false);
        }
        self.0[place] = true;
    }
}

/// Other numbers for the same names.
#[derive(Debug)]
pub(crate) struct Renumbered(Vec<Comm>);

impl Renumbered {
    pub(crate) fn of(&self, comm: Comm) -> Comm {
        self.0.get(comm.0 as usize).copied().unwrap_or(Comm::UNKNOWN)
    }
}
