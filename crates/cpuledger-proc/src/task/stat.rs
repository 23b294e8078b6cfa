//! `/proc/PID/stat` and `/proc/PID/task/TID/stat`: one line, whose second field may hold anything.

use crate::number;

/// What the line says, in its own units, and how each is read of `$rest`, one after the other.
macro_rules! members {
    (|$rest:ident| $($(#[$doc:meta])* $member:ident: $type:ty = $read:expr;)*) => {
        /// What the line says, in its own units.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs)] // the field table documents each
        pub struct Stat<'a> {
            pub tid: i32,
            pub comm: &'a [u8],
            $($(#[$doc])* pub $member: $type,)*
        }

        /// Reads a whole line, up to its newline; `None` where it is not one.
        ///
        /// The name may hold `) R 1 (`, blanks and newlines: it ends at the last `)`, after which the kernel prints only numbers
        /// and one letter.
        pub fn parse_stat(line: &[u8]) -> Option<Stat<'_>> {
            let (tid, comm, mut $rest) = split(line)?;
            let stat = Stat { tid, comm, $($member: $read),* };
            $rest.0.next()?; // the line goes on, so the last number is whole
            Some(stat)
        }
    };
}

members! { |rest|
    state: u8 = rest.letter()?;
    ppid: i32 = rest.signed()?;
    pgid: i32 = rest.signed()?;
    sid: i32 = rest.signed()?;
    // Printed as an int: minors beyond 0x7ffff come out negative.
    tty_device: u32 = rest.signed()?.cast_unsigned();
    tty_pgid: i32 = rest.signed()?;
    flags: u32 = rest.unsigned()?;
    minor_faults: u64 = rest.unsigned()?;
    children_minor_faults: u64 = rest.unsigned()?;
    major_faults: u64 = rest.unsigned()?;
    children_major_faults: u64 = rest.unsigned()?;
    user_ticks: u64 = rest.unsigned()?;
    system_ticks: u64 = rest.unsigned()?;
    children_user_ticks: u64 = rest.unsigned()?;
    children_system_ticks: u64 = rest.unsigned()?;
    priority: i32 = rest.signed()?;
    nice: i32 = rest.signed()?;
    /// 0 once the task has been reaped: then half of the other fields are made up.
    threads: u32 = rest.unsigned()?;
    start_ticks: u64 = rest.after(1)?.unsigned()?; // itrealvalue, always 0
    vsize_bytes: u64 = rest.unsigned()?;
    exit_signal: i32 = rest.after(14)?.signed()?; // rss, rsslim, addresses, signals, wchan, swap
    processor: u32 = rest.unsigned()?;
    rt_priority: u32 = rest.unsigned()?;
    policy: u32 = rest.unsigned()?;
}

/// The places that a task has in its memory, of the same line: 0 where the caller may not know them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// Limit of resident memory, `u64::MAX` for none.
    pub resident_limit_bytes: u64,
    /// Begin of the code.
    pub code_begin: u64,
    /// End of the code.
    pub code_end: u64,
    /// Begin of the main stack.
    pub stack_begin: u64,
    /// Stack pointer.
    pub stack_pointer: u64,
    /// Instruction pointer.
    pub instruction_pointer: u64,
}

/// Reads a whole line, up to its newline; `None` where it is not one.
pub fn parse_addresses(line: &[u8]) -> Option<Addresses> {
    /// proc(5) counts from 1, and two fields are before these.
    const RESIDENT_LIMIT: usize = 25 - 3;
    let (_, _, mut rest) = split(line)?;
    rest.after(RESIDENT_LIMIT)?;
    Some(Addresses {
        resident_limit_bytes: rest.unsigned()?,
        code_begin: rest.unsigned()?,
        code_end: rest.unsigned()?,
        stack_begin: rest.unsigned()?,
        stack_pointer: rest.unsigned()?,
        instruction_pointer: rest.unsigned()?,
    })
}

/// The tid, the name and the fields after it.
fn split(line: &[u8]) -> Option<(i32, &[u8], Fields<'_>)> {
    let line = line.strip_suffix(b"\n")?;
    let open = line.iter().position(|&byte| byte == b'(')?;
    let close = line.iter().rposition(|&byte| byte == b')').filter(|&close| close > open)?;
    let tid = number::signed(line[..open].strip_suffix(b" ")?)?.try_into().ok()?;
    let rest = line[close + 1..].strip_prefix(b" ")?;
    Some((tid, &line[open + 1..close], Fields(rest.split(is_blank))))
}

fn is_blank(byte: &u8) -> bool {
    *byte == b' '
}

/// The fields after the name.
struct Fields<'a>(std::slice::Split<'a, u8, fn(&u8) -> bool>);

impl Fields<'_> {
    fn letter(&mut self) -> Option<u8> {
        match self.0.next()? {
            [letter] if letter.is_ascii_alphabetic() => Some(*letter),
            _ => None,
        }
    }

    fn unsigned<N: TryFrom<u64>>(&mut self) -> Option<N> {
        number::unsigned(self.0.next()?)?.try_into().ok()
    }

    fn signed(&mut self) -> Option<i32> {
        number::signed(self.0.next()?)?.try_into().ok()
    }

    /// Skips this number of fields.
    fn after(&mut self, fields: usize) -> Option<&mut Self> {
        self.0.nth(fields - 1).map(|_| self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LINE: &str = "224895 (cat) R 224893 224894 10870 34816 -1 4194304 98 1 2 3 4 5 6 7 20 0 8 0 270126 3133440 360 \
        18446744073709551615 93980626051072 93980626070953 140734487849584 0 0 0 0 0 0 0 0 0 17 1 99 2 0 0 0 93980626086960 \
        93980626088576 93981429542912 140734487853674 140734487853782 140734487853782 140734487855083 0\n";

    fn sample() -> Stat<'static> {
        Stat {
            tid: 224_895,
            comm: b"cat",
            state: b'R',
            ppid: 224_893,
            pgid: 224_894,
            sid: 10_870,
            tty_device: 34_816,
            tty_pgid: -1,
            flags: 4_194_304,
            minor_faults: 98,
            children_minor_faults: 1,
            major_faults: 2,
            children_major_faults: 3,
            user_ticks: 4,
            system_ticks: 5,
            children_user_ticks: 6,
            children_system_ticks: 7,
            priority: 20,
            nice: 0,
            threads: 8,
            start_ticks: 270_126,
            vsize_bytes: 3_133_440,
            exit_signal: 17,
            processor: 1,
            rt_priority: 99,
            policy: 2,
        }
    }

    /// The line that the kernel would print, the fields that are not read being 0.
    fn line_of(stat: &Stat<'_>) -> Vec<u8> {
        let mut line = format!("{} (", stat.tid).into_bytes();
        line.extend_from_slice(stat.comm);
        line.extend_from_slice(format!(") {} ", stat.state as char).as_bytes());
        let before = [stat.ppid, stat.pgid, stat.sid, stat.tty_device.cast_signed(), stat.tty_pgid];
        let counts = [
            u64::from(stat.flags),
            stat.minor_faults,
            stat.children_minor_faults,
            stat.major_faults,
            stat.children_major_faults,
            stat.user_ticks,
            stat.system_ticks,
            stat.children_user_ticks,
            stat.children_system_ticks,
        ];
        let mut words: Vec<String> = before.iter().map(ToString::to_string).collect();
        words.extend(counts.iter().map(ToString::to_string));
        words.extend([stat.priority, stat.nice].map(|number| number.to_string()));
        words
            .extend([stat.threads.into(), 0, stat.start_ticks, stat.vsize_bytes].map(|n: u64| n.to_string()));
        words.extend(std::iter::repeat_n("0".to_owned(), 14));
        words.push(stat.exit_signal.to_string());
        words.extend([stat.processor, stat.rt_priority, stat.policy].map(|number| number.to_string()));
        words.extend(std::iter::repeat_n("0".to_owned(), 11));
        line.extend_from_slice(words.join(" ").as_bytes());
        line.push(b'\n');
        line
    }

    #[test]
    fn a_line_of_the_kernel_is_read() {
        assert_eq!(parse_stat(LINE.as_bytes()), Some(sample()));
    }

    #[test]
    fn a_name_cannot_pretend_to_be_fields() {
        for comm in [") R 1 (", "", " ", ")", "(", "a\nb", ") S 1 1 1 0 -1 0 0 (x)", "\u{fffd}\u{1b}["] {
            let stat = Stat { comm: comm.as_bytes(), ..sample() };
            let line = line_of(&stat);
            assert_eq!(parse_stat(&line), Some(stat), "{}", line.escape_ascii());
        }
    }

    #[test]
    fn a_terminal_with_a_large_minor_is_a_device_number() {
        let stat = Stat { tty_device: 0xf000_88ff, ..sample() };
        assert_eq!(parse_stat(&line_of(&stat)), Some(stat));
    }

    #[test]
    fn no_part_of_a_line_is_taken_for_a_line() {
        for length in 0..LINE.len() {
            assert_eq!(parse_stat(&LINE.as_bytes()[..length]), None, "{length} bytes");
        }
        // Not even one that was cut at a blank and ends like a line.
        for (blank, _) in LINE.match_indices(' ').take(40) {
            assert_eq!(parse_stat(format!("{}\n", &LINE[..blank]).as_bytes()), None, "{blank} bytes");
        }
    }

    #[test]
    fn addresses_follow_the_limit_of_resident_memory_whatever_the_name() {
        let words: Vec<String> = (4..=52).map(|number| number.to_string()).collect();
        let text = format!("7 (a) b) S {}\n", words.join(" "));
        let expected = Addresses {
            resident_limit_bytes: 25,
            code_begin: 26,
            code_end: 27,
            stack_begin: 28,
            stack_pointer: 29,
            instruction_pointer: 30,
        };
        assert_eq!(parse_addresses(text.as_bytes()), Some(expected));
        for length in 0..text.len() {
            assert_eq!(parse_addresses(&text.as_bytes()[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in [") (x\n", "1 (x\n", "(x) R 1\n", "1 (x)R 1\n", "x (x) R 1\n", "\n"] {
            assert_eq!(parse_stat(bad.as_bytes()), None, "{bad:?}");
        }
        assert_eq!(parse_stat(LINE.replace("34816", "x").as_bytes()), None);
        assert_eq!(parse_stat(LINE.replace("34816", "2147483648").as_bytes()), None);
    }

    prop_compose! {
        fn identity()(
            tid in 1..i32::MAX,
            letter in prop::sample::select(&b"RSDTtXZPI"[..]),
            family in prop::array::uniform4(any::<i32>()),
            tty_device: u32,
            flags: u32,
            exit_signal in -1..65i32,
            scheduling in prop::array::uniform5(any::<u32>()),
            priority in -101..140i32,
            nice in -20..20i32,
        ) -> Stat<'static> {
            Stat {
                tid,
                state: letter,
                ppid: family[0],
                pgid: family[1],
                sid: family[2],
                tty_pgid: family[3],
                tty_device,
                flags,
                exit_signal,
                processor: scheduling[0],
                rt_priority: scheduling[1],
                policy: scheduling[2],
                threads: scheduling[3],
                priority,
                nice,
                ..sample()
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let _ = (parse_stat(&bytes), parse_addresses(&bytes));
        }

        #[test]
        fn any_damage_to_a_line_is_survived(position in 0..LINE.len(), byte: u8) {
            let mut line = LINE.as_bytes().to_vec();
            line[position] = byte;
            let _ = parse_stat(&line);
        }

        #[test]
        fn a_line_is_read_back(
            stat in identity(),
            comm in prop::collection::vec(any::<u8>(), 0..64),
            counts in prop::array::uniform10(any::<u64>()),
        ) {
            let stat = Stat {
                comm: &comm,
                minor_faults: counts[0],
                children_minor_faults: counts[1],
                major_faults: counts[2],
                children_major_faults: counts[3],
                user_ticks: counts[4],
                system_ticks: counts[5],
                children_user_ticks: counts[6],
                children_system_ticks: counts[7],
                start_ticks: counts[8],
                vsize_bytes: counts[9],
                ..stat
            };
            let line = line_of(&stat);
            prop_assert_eq!(parse_stat(&line), Some(stat));
        }
    }
}
