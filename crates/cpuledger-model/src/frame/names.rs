//! Texts of a frame, each kept once.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::frame::layout::MOST_TEXT_BYTES;
use crate::frame::trim::trim;

/// The longest path: two texts.
const MOST_PATH_BYTES: usize = 2 * MOST_TEXT_BYTES as usize;

/// What a longer one ends in.
const CUT: &[u8] = b"/...";

/// A path as two texts have it. Of one that is longer these are the first components, where slice and unit are. `None`: the first is too long.
pub(crate) fn path_of_two_texts(path: &[u8]) -> Option<Cow<'_, [u8]>> {
    if path.len() <= MOST_PATH_BYTES {
        return Some(Cow::Borrowed(path));
    }
    let end = path[..=MOST_PATH_BYTES - CUT.len()].iter().rposition(|byte| *byte == b'/')?;
    (end > 0).then(|| Cow::Owned([&path[..end], CUT].concat()))
}

/// Texts by their numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    bytes: Vec<u8>,
    /// Where each ends in `bytes`.
    ends: Vec<u32>,
    /// Numbers of those that were added by [`Names::intern`].
    numbers: HashMap<Box<[u8]>, u32>,
    /// The number that [`Names::intern`] has told last: rows that follow each other often have the same text.
    last: u32,
}

impl Names {
    /// The number of a text, which is added if it is new.
    pub(crate) fn intern(&mut self, text: &[u8]) -> u32 {
        if self.get(self.last.into()) == Some(text) {
            return self.last;
        }
        self.last = match self.numbers.get(text) {
            Some(&number) => number,
            None => {
                let number = self.push(text);
                self.numbers.insert(text.into(), number);
                number
            }
        };
        self.last
    }

    /// Adds one without a look at the others.
    pub(crate) fn push(&mut self, text: &[u8]) -> u32 {
        let number = self.ends.len() as u32;
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len() as u32);
        number
    }

    pub(crate) fn get(&self, number: u64) -> Option<&[u8]> {
        let number = usize::try_from(number).ok()?;
        let end = *self.ends.get(number)?;
        self.bytes.get(self.start(number) as usize..end as usize)
    }

    fn start(&self, number: usize) -> u32 {
        number.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn lengths(&self) -> impl Iterator<Item = u32> {
        (0..self.ends.len()).map(|number| self.ends[number] - self.start(number))
    }

    /// Gives back memory that is much more than they need.
    pub(crate) fn trim(&mut self) {
        let (bytes, texts) = (self.bytes.len(), self.ends.len());
        trim(&mut self.bytes, bytes);
        trim(&mut self.ends, texts);
        if self.numbers.capacity() > 4 * self.numbers.len().max(256) {
            self.numbers.shrink_to(2 * self.numbers.len());
        }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.numbers.clear();
    }
}
