//! The items of a list on the command line, and the numbers that they mean: names of users, groups and terminals are looked up.

use cpuledger::Field;
use cpuledger_names::names::{gid_of, uid_of};
use cpuledger_names::terminal::device_of_name;

use super::number;

/// What separates the items of a list.
pub const SEPARATORS: [char; 4] = [',', ' ', '\t', '\n'];

/// The items of a list, none of which is empty.
///
/// # Errors
/// A sentence with the list.
pub fn items(list: &str) -> Result<impl Iterator<Item = &str>, String> {
    match list.split(SEPARATORS).any(str::is_empty) {
        true => Err(format!("the list `{list}` has an empty item")),
        false => Ok(list.split(SEPARATORS)),
    }
}

/// The number that an item of a list means for the field by which it chooses.
///
/// # Errors
/// A sentence that says what the item should be.
pub fn number(field: Field, item: &str) -> Result<i64, String> {
    match field {
        Field::Pid => positive(item, "pid").map(i64::from),
        Field::Ppid if number::parse(item) == Some(0) => Ok(0), // the parent of the first process
        Field::Ppid => positive(item, "pid").map(i64::from),
        Field::Sid => positive(item, "session id").map(i64::from),
        Field::Pgid => positive(item, "process group id").map(i64::from),
        Field::Euid | Field::Uid => id(item, uid_of(item), "user"),
        Field::Egid | Field::Gid => id(item, gid_of(item), "group"),
        Field::TtyDevice => {
            let device = device_of_name(item).ok_or_else(|| format!("there is no terminal `{item}`"))?;
            Ok(device.into())
        }
        _ => Err(format!("no list chooses by `{}`", field.info().key)),
    }
}

/// A pid, or the number of what is numbered like it.
///
/// # Errors
/// A sentence that says so.
pub fn positive(item: &str, what: &str) -> Result<i32, String> {
    let number = number::parse(item).and_then(|number| i32::try_from(number).ok());
    number
        .filter(|&number| number > 0)
        .ok_or_else(|| format!("`{item}` is not a valid {what} (1 to {})", i32::MAX))
}

/// A user or a group by name, or else by number.
fn id(item: &str, named: Option<u32>, what: &str) -> Result<i64, String> {
    if let Some(id) = named {
        return Ok(id.into());
    }
    match number::parse(item) {
        Some(number) if u32::try_from(number).is_ok() => Ok(number),
        _ => Err(format!("there is no {what} `{item}`")),
    }
}
