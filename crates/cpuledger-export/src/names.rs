//! A dictionary of texts that grows.

use arrow_array::StringArray;
use cpuledger_proc::escape::escaped;
use rustc_hash::FxHashMap;

/// Texts, each once, with their numbers.
#[derive(Debug, Default)]
pub(crate) struct Names {
    numbers: FxHashMap<Box<str>, i32>,
    texts: Vec<Box<str>>,
    /// The number of each text of the present frame, by the number that the frame has for it; -1: not looked up yet.
    of_frame: Vec<i32>,
}

impl Names {
    /// The number of a text that is printable.
    pub(crate) fn number(&mut self, text: &str) -> i32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as i32;
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }

    /// Another frame begins, whose texts have other numbers.
    pub(crate) fn begin_frame(&mut self) {
        self.of_frame.clear();
    }

    /// The number of a text of the present frame, escaped as in all outputs: two different names stay different.
    pub(crate) fn number_in_frame(&mut self, in_frame: u64, text: &[u8]) -> i32 {
        let place = in_frame as usize;
        if self.of_frame.len() <= place {
            self.of_frame.resize(place + 1, -1);
        }
        if self.of_frame[place] < 0 {
            self.of_frame[place] = self.number(&escaped(text));
        }
        self.of_frame[place]
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn clear(&mut self) {
        *self = Names::default();
    }

    pub(crate) fn array(&self) -> StringArray {
        StringArray::from_iter_values(self.texts.iter())
    }
}
