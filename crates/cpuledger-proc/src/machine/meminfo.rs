//! `/proc/meminfo`.

use super::number_after;

/// Memory in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// All there is.
    pub total: u64,
    /// What nothing uses.
    pub free: u64,
    /// What could be had without swapping.
    pub available: u64,
    /// Buffers, page cache and what the kernel can give back.
    pub cache: u64,
    /// Swap.
    pub swap_total: u64,
    /// Free swap.
    pub swap_free: u64,
}

/// Reads the file; `None` where it does not tell how much there is.
pub fn parse_memory(meminfo: &str) -> Option<Memory> {
    let bytes = |name| number_after(meminfo, name)?.checked_mul(1024);
    let or_none = |name| bytes(name).unwrap_or(0);
    Some(Memory {
        total: bytes("MemTotal:")?,
        free: or_none("MemFree:"),
        available: bytes("MemAvailable:").or_else(|| bytes("MemFree:"))?,
        cache: or_none("Buffers:")
            .saturating_add(or_none("Cached:"))
            .saturating_add(or_none("SReclaimable:")),
        swap_total: or_none("SwapTotal:"),
        swap_free: or_none("SwapFree:"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        let memory = parse_memory(
            "MemTotal: 100 kB\nMemAvailable: 40 kB\nBuffers: 1 kB\nCached: 2 kB\nSwapTotal: 8 kB\n",
        );
        let expected = Memory {
            total: 102_400,
            free: 0,
            available: 40_960,
            cache: 3072,
            swap_total: 8192,
            swap_free: 0,
        };
        assert_eq!((memory, parse_memory("")), (Some(expected), None));
    }
}
