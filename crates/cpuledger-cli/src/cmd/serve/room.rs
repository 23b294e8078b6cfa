//! How large rings are: as the frames need it, within a limit, and no longer than they need it.

/// The data area of a new ring, in bytes.
pub const FIRST_BYTES: usize = 256 << 10;
/// The data areas of all rings of users together. An interval that is too long for what is left is missing in a ring, and its readers know which.
pub const USERS_BYTES: usize = 64 << 20;
/// How many times the longest frame a ring has room for.
const FRAMES_OF_ROOM: usize = 4;
/// Long frames are fewer: the one before the last has to stay whole while the last is written.
const LEAST_FRAMES_OF_ROOM: usize = 2;
/// A ring has more room than it needs only if that is at most this part of what is left: 64 users whose frames have 300 KiB each have a ring.
const PART_OF_REST: usize = 32;
/// What is a long frame, in bytes.
const LONG: usize = 1 << 20;
/// Intervals whose frames need less than a fraction of a ring, before a smaller one follows.
const PATIENCE: u32 = 60;
const FRACTION: usize = 4;

/// What the last frames of a ring need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Room {
    /// The longest frame of those that need much less than the ring has.
    longest: usize,
    /// How many those are.
    count: u32,
}

impl Room {
    /// How many bytes a ring shall have that has `bytes` and gets a frame of `length`. `None`: more than `most`.
    pub fn of_ring(&mut self, bytes: usize, length: usize, most: usize) -> Option<usize> {
        if length > bytes / LEAST_FRAMES_OF_ROOM {
            *self = Room::default();
            let least = rounded(LEAST_FRAMES_OF_ROOM * length);
            return [(wanted(length), most / PART_OF_REST), (least, most)]
                .into_iter()
                .find_map(|(size, most)| (size <= most).then_some(size));
        }
        self.longest = self.longest.max(length);
        if bytes <= FIRST_BYTES || wanted(self.longest) > bytes / FRACTION {
            *self = Room::default();
            return Some(bytes);
        }
        self.count += 1;
        if self.count < PATIENCE {
            return Some(bytes);
        }
        Some(wanted(std::mem::take(self).longest))
    }
}

/// The size of a ring for frames of that length.
fn wanted(length: usize) -> usize {
    let frames = if length < LONG { FRAMES_OF_ROOM } else { LEAST_FRAMES_OF_ROOM };
    rounded(frames * length)
}

fn rounded(bytes: usize) -> usize {
    bytes.max(FIRST_BYTES).next_multiple_of(FIRST_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_ring_grows_at_once_and_becomes_smaller_when_all_frames_are_short() {
        let mut room = Room::default();
        assert_eq!(room.of_ring(FIRST_BYTES, 100_000, USERS_BYTES), Some(FIRST_BYTES));
        assert_eq!(room.of_ring(FIRST_BYTES, MIB / 2, USERS_BYTES), Some(2 * MIB));
        assert_eq!(room.of_ring(2 * MIB, 10 * MIB, USERS_BYTES), Some(20 * MIB));
        for _ in 0..PATIENCE - 1 {
            assert_eq!(room.of_ring(20 * MIB, MIB / 4, USERS_BYTES), Some(20 * MIB));
        }
        assert_eq!(room.of_ring(20 * MIB, 1000, USERS_BYTES), Some(MIB), "there was one of a quarter");
        assert_eq!(room, Room::default());
    }

    #[test]
    fn a_long_frame_among_short_ones_keeps_a_ring_as_it_is() {
        let mut room = Room::default();
        for interval in 0..10 * PATIENCE {
            let length = if interval % (PATIENCE / 2) == 0 { 9 * MIB } else { 1000 };
            assert_eq!(room.of_ring(20 * MIB, length, USERS_BYTES), Some(20 * MIB));
        }
    }

    #[test]
    fn all_users_have_a_ring_where_a_thousand_processes_run() {
        for length in [1_000, 100 << 10, 200 << 10, 300 << 10, 380 << 10] {
            let mut taken = 0;
            for user in 0..64 {
                let size = Room::default().of_ring(FIRST_BYTES, length, USERS_BYTES - taken);
                taken += size.unwrap_or_else(|| panic!("{user} users have {taken} bytes for {length}"));
            }
            assert!(taken <= USERS_BYTES);
        }
    }

    #[test]
    fn a_frame_for_which_there_is_no_room_is_left_out() {
        let mut room = Room::default();
        assert_eq!(room.of_ring(FIRST_BYTES, MIB - 1, 2 * MIB), Some(2 * MIB), "two frames, not four");
        assert_eq!(room.of_ring(FIRST_BYTES, MIB, 2 * MIB - 1), None);
    }
}
