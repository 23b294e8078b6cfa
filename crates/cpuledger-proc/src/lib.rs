//! Parsers of the text of /proc and /sys, one for each file.
//!
//! Everything here is pure: no file is read, and no clock. Text comes from the kernel, but a task has a hand in some of it: its name, its
//! arguments, the names of cgroups. So any bytes are survived, and what is not the whole text of the file is refused where that can be told.

pub mod cpu_list;
pub mod machine;
pub mod number;
pub mod task;

/// Lines of a name, a colon and a value, as many files have them; the value as it stands, with blanks.
pub fn entries(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    text.split(|&byte| byte == b'\n').filter_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        Some((&line[..colon], &line[colon + 1..]))
    })
}
