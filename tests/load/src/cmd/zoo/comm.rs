//! Members whose names are hard to print or to parse.

use anyhow::Result;

use super::life::{Ending, Kind, Life};

pub(super) const KINDS: &[Kind] = &[
    Kind::new("comm-spaces", |life| named(life, b"a b c")),
    Kind::new("comm-parentheses", |life| named(life, b"x) R 1 (y")),
    Kind::new("comm-newline", |life| named(life, b"two\nlines")),
    Kind::new("comm-tab-backslash", |life| named(life, b"tab\tback\\slash")),
    Kind::new("comm-not-utf8", |life| named(life, b"\xff\xfe")),
    Kind::new("comm-escape", |life| named(life, b"\x1b[31mred")),
    Kind::new("comm-empty", |life| named(life, b"")),
    Kind::new("comm-15", |life| named(life, b"fifteen-letters")),
];

fn named(life: &mut Life, comm: &[u8]) -> Result<Ending> {
    life.set_comm(comm)?;
    Ok(Ending::Sleep)
}
