//! A recording that was opened as root and is read on by a user that may open nothing of it.

mod frames;

use std::io::ErrorKind;
use std::path::Path;

use cpuledger_recording::{Error, Options, Recording, Writer};
use frames::Machine;
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// A user without privileges.
const STRANGER: u32 = 65_534;

/// Writes a segment of five seconds.
fn write(folder: &Path, machine: &mut Machine) {
    let mut writer = Writer::open(folder, Options::default()).expect("a writer");
    (0..5).for_each(|_| writer.append(&machine.second()).expect("there is room"));
    writer.close().expect("there is room");
}

/// Acts in a thread without privileges.
fn as_stranger<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    let given_up = || {
        set_thread_groups(&[]).expect("root may");
        set_thread_res_gid(Gid::from_raw(STRANGER), Gid::from_raw(STRANGER), Gid::from_raw(STRANGER))
            .expect("root may");
        set_thread_res_uid(Uid::from_raw(STRANGER), Uid::from_raw(STRANGER), Uid::from_raw(STRANGER))
            .expect("root may");
        act()
    };
    std::thread::scope(|scope| scope.spawn(given_up).join().expect("it does not panic"))
}

#[test]
fn what_was_opened_as_root_is_read_without_privileges_root() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("recording");
    let mut machine = Machine::new(37, 4);
    write(&folder, &mut machine);
    let mut recording = Recording::open(&folder).expect("a recording");
    let last = recording.last().expect("it has records");
    assert_eq!(recording.keep_open(), 0);
    let refreshed = as_stranger(|| {
        Recording::open(&folder).expect_err("it is closed to this user");
        // More than once: the directory is read from its begin.
        (0..3).map(|_| recording.refresh()).collect::<Result<Vec<bool>, Error>>()
    });
    assert_eq!(refreshed.expect("the directory is open"), [true; 3]);
    assert_eq!(recording.last(), Some(last));
    // A new segment is closed to the user. What was open stays.
    write(&folder, &mut machine);
    let refused = as_stranger(|| recording.refresh()).expect_err("the new segment is closed to this user");
    let is_denied = |error: &Error| matches!(error, Error::Io { source, .. } if source.kind() == ErrorKind::PermissionDenied);
    assert!(is_denied(&refused), "{refused}");
    assert_eq!((recording.segments().count(), recording.last()), (1, Some(last)));
    recording.refresh().expect("root may");
    assert_eq!(recording.segments().count(), 2);
}

/// More segments than are open at a time otherwise.
#[test]
fn all_of_it_is_read_without_privileges_if_it_is_kept_open_root() {
    const SEGMENTS: usize = 100;
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("recording");
    let mut machine = Machine::new(37, 4);
    (0..SEGMENTS).for_each(|_| write(&folder, &mut machine));
    let mut recording = Recording::open(&folder).expect("a recording");
    let whole = |recording: &mut Recording| {
        let mut next = recording.first();
        let (mut read, mut refused) = (0, 0);
        while let Some(place) = next {
            match recording.read(place) {
                Ok(record) => read += usize::from(record.is_some()),
                Err(error) => refused += usize::from(error.to_string().contains("Permission denied")),
            }
            next = recording.next(place);
        }
        (read, refused)
    };
    assert_eq!(whole(&mut recording), (5 * SEGMENTS, 0));
    let (read, refused) = as_stranger(|| whole(&mut recording));
    assert!(read < 5 * SEGMENTS && read + refused == 5 * SEGMENTS, "{read} and {refused}");
    assert_eq!(recording.keep_open(), 0);
    assert_eq!(as_stranger(|| whole(&mut recording)), (5 * SEGMENTS, 0));
}
