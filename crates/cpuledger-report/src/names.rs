//! Names of commands, each kept once.

use cpuledger_model::frame::{Column, Frame, Section};
use rustc_hash::FxHashMap;

/// The number of a name; the greatest: it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Comm(u32);

impl Comm {
    pub(crate) const UNKNOWN: Comm = Comm(u32::MAX);
}

/// The names by their numbers. They have at most 15 bytes in the kernel, and as many as a frame lets them have here.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    numbers: FxHashMap<Box<[u8]>, Comm>,
    texts: Vec<Box<[u8]>>,
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
        self.texts.push(text.into());
        self.numbers.insert(text.into(), comm);
        comm
    }

    /// The text of a name.
    pub(crate) fn text(&self, comm: Comm) -> Option<Vec<u8>> {
        self.texts.get(comm.0 as usize).map(|text| text.to_vec())
    }

    /// The numbers here of the names that another has: in the order of these.
    pub(crate) fn take(&mut self, other: &Names) -> Renumbered {
        Renumbered(other.texts.iter().map(|text| self.intern(text)).collect())
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
