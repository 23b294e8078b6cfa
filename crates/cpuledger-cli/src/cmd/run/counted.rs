//! What the kernel counts of processes: getrusage(2).

use bytemuck::{Pod, Zeroable, cast};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// Of a block, as getrusage(2) counts them.
const BLOCK_BYTES: u64 = 512;

/// What the kernel has counted of a process, or of those that were waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Counted {
    /// User time.
    pub user_ns: u64,
    /// System time.
    pub system_ns: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Bytes read from block devices.
    pub read_bytes: u64,
    /// Bytes written to them.
    pub write_bytes: u64,
    /// Context switches because it waited.
    pub voluntary_switches: u64,
    /// Context switches because it was preempted.
    pub involuntary_switches: u64,
    /// The largest resident size that one of them has had.
    pub max_rss_bytes: u64,
}

/// How many figures these are.
const FIGURES: usize = size_of::<Counted>() / size_of::<u64>();

impl Counted {
    /// Of this process, or of its children that were waited for.
    ///
    /// # Errors
    /// None that is known.
    pub fn of(whom: UsageWho) -> nix::Result<Counted> {
        let usage = getrusage(whom)?;
        let ns = |time: TimeVal| {
            time.tv_sec().cast_unsigned() * 1_000_000_000 + time.tv_usec().cast_unsigned() * 1000
        };
        Ok(Counted {
            user_ns: ns(usage.user_time()),
            system_ns: ns(usage.system_time()),
            minor_faults: usage.minor_page_faults().cast_unsigned(),
            major_faults: usage.major_page_faults().cast_unsigned(),
            read_bytes: usage.block_reads().cast_unsigned() * BLOCK_BYTES,
            write_bytes: usage.block_writes().cast_unsigned() * BLOCK_BYTES,
            voluntary_switches: usage.voluntary_context_switches().cast_unsigned(),
            involuntary_switches: usage.involuntary_context_switches().cast_unsigned(),
            max_rss_bytes: usage.max_rss().cast_unsigned() * 1024,
        })
    }

    /// What has been added since these were counted. The largest size is the one of now.
    pub fn since(&self, before: &Counted) -> Counted {
        let grown = self.with(before, u64::saturating_sub);
        Counted { max_rss_bytes: self.max_rss_bytes, ..grown }
    }

    /// Both together: sizes are those of one process.
    pub fn and(&self, other: &Counted) -> Counted {
        let sum = self.with(other, u64::saturating_add);
        Counted { max_rss_bytes: self.max_rss_bytes.max(other.max_rss_bytes), ..sum }
    }

    /// Each figure of one with that of the other.
    fn with(&self, other: &Counted, combine: fn(u64, u64) -> u64) -> Counted {
        let [one, two]: [[u64; FIGURES]; 2] = [cast(*self), cast(*other)];
        cast::<[u64; FIGURES], Counted>(std::array::from_fn(|place| combine(one[place], two[place])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_go_through_bytes_and_differences() {
        let one: Counted = cast::<[u64; FIGURES], _>(std::array::from_fn(|place| 10 * (place as u64 + 1)));
        let mut read = Counted::default();
        bytemuck::bytes_of_mut(&mut read).copy_from_slice(bytemuck::bytes_of(&one));
        assert_eq!(read, one);
        let all = one.and(&one);
        assert_eq!((all.user_ns, all.involuntary_switches, all.max_rss_bytes), (20, 160, 90));
        assert_eq!(all.since(&one), one);
        assert!(Counted::of(UsageWho::RUSAGE_SELF).expect("it is told").max_rss_bytes > 0);
    }
}
