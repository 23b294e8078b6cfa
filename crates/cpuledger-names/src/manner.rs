//! Two ways to write what has no one form: exactly, or as scripts know it from procps.

use cpuledger_proc::escape::{append_escaped, append_printable};

/// How names and unknown figures are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Manner {
    /// Two different names stay different, and what is not known is said to be unknown.
    #[default]
    Exact,
    /// As procps does in the text that scripts parse. A backslash stays as it is, `?` stands for what may not reach a terminal, and no
    /// memory where the task that is shown has let go of it.
    Procps,
}

impl Manner {
    /// Appends a name.
    pub fn append(self, line: &mut Vec<u8>, bytes: &[u8]) {
        match self {
            Manner::Exact => append_escaped(line, bytes),
            Manner::Procps => append_printable(line, bytes),
        }
    }

    /// Appends what NULs separate, with blanks between. procps takes the end of a line for the end of an argument.
    pub fn append_separated(self, line: &mut Vec<u8>, text: &[u8]) {
        let is_end = |byte: &u8| *byte == 0 || self == Manner::Procps && *byte == b'\n';
        for (index, part) in text.split(is_end).enumerate() {
            if index > 0 {
                line.push(b' ');
            }
            self.append(line, part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_told_apart_or_are_those_of_procps() {
        for (manner, expected) in [(Manner::Exact, r"sh -c C:\\a\n\x1bb"), (Manner::Procps, r"sh -c C:\a ?b")]
        {
            let mut line = Vec::new();
            manner.append_separated(&mut line, b"sh\0-c\0C:\\a\n\x1bb");
            assert_eq!(String::from_utf8_lossy(&line), expected);
        }
    }
}
