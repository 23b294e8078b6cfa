//! Many durations in three.

/// Of a number of durations.
#[derive(Debug, Default, Clone, Copy, serde::Serialize)]
pub struct Spread {
    pub median_ns: u64,
    pub p99_ns: u64,
    pub most_ns: u64,
}

impl Spread {
    /// Of none it is 0.
    pub fn of(durations_ns: &[u64]) -> Spread {
        let mut sorted = durations_ns.to_vec();
        sorted.sort_unstable();
        let at = |percent: usize| sorted.get(sorted.len() * percent / 100).copied().unwrap_or_default();
        Spread { median_ns: at(50), p99_ns: at(99), most_ns: sorted.last().copied().unwrap_or_default() }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [median, p99, most] = [self.median_ns, self.p99_ns, self.most_ns].map(|ns| ns as f64 / 1e6);
        write!(formatter, "median {median:.3} ms, p99 {p99:.3} ms, at most {most:.3} ms")
    }
}

/// Each beside the median.
pub fn jitters(late_ns: &[u64]) -> Vec<u64> {
    let median_ns = Spread::of(late_ns).median_ns;
    late_ns.iter().map(|late_ns| late_ns.abs_diff(median_ns)).collect()
}
