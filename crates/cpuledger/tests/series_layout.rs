//! Where the members of `struct taskstats` are by the patches of each folder of `kernel/`, and where they are decoded.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use cpuledger::source::netlink::layout::{Dead, SERIES, SERIES_BEGIN, Used, decode};
use cpuledger_model::make;

/// What the patches add to the struct: each version's size, and the offset of each member.
#[derive(Debug, Default)]
struct Layout {
    sizes: HashMap<u16, usize>,
    offsets: HashMap<String, usize>,
    end: usize,
}

impl Layout {
    fn of_series() -> Layout {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/series");
        let mut patches: Vec<_> =
            fs::read_dir(folder).expect("the series").map(|entry| entry.expect("a patch").path()).collect();
        patches.sort();
        let mut layout = Layout { end: SERIES_BEGIN, ..Layout::default() };
        for patch in patches {
            layout.add(&fs::read_to_string(patch).expect("UTF-8"));
        }
        layout
    }

    /// Adds what one patch adds to the header of user space.
    fn add(&mut self, patch: &str) {
        let header = "+++ b/include/uapi/linux/taskstats.h";
        let Some((_, changes)) = patch.split_once(header) else { return };
        let changes = changes.split("\ndiff --git").next().unwrap_or_default();
        let version = changes.lines().find_map(|line| line.strip_prefix("+#define TASKSTATS_VERSION"));
        let version: u16 = version.expect("each raises it").trim().parse().expect("a number");
        // What follows the end of the struct belongs to others.
        let of_struct = changes.lines().take_while(|line| !line.contains("};"));
        of_struct.filter_map(|line| line.strip_prefix('+')).for_each(|line| self.add_member(line.trim()));
        self.end = self.end.next_multiple_of(8);
        self.sizes.insert(version, self.end);
    }

    fn add_member(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let bytes = match words.next() {
            Some("__u64") => 8,
            Some("__u32") => 4,
            _ => return,
        };
        let name = words.next().expect("a name").trim_end_matches(';');
        // What later versions of Linux have there: the members of the series begin behind it.
        if name.starts_with("reserved_v") {
            return;
        }
        let alignment = if line.contains("aligned(8)") { 8 } else { bytes };
        let offset = self.end.next_multiple_of(alignment);
        self.offsets.insert(name.to_owned(), offset);
        self.end = offset + bytes;
    }
}

#[test]
fn sizes_are_those_of_the_patches() {
    assert_eq!(Layout::of_series().sizes, HashMap::from(SERIES));
}

/// Each member has its offset for a value.
#[test]
fn members_are_decoded_where_the_patches_put_them() {
    let layout = Layout::of_series();
    SERIES.into_iter().for_each(|(version, bytes)| must_decode(&layout, version, bytes));
}

fn must_decode(layout: &Layout, version: u16, bytes: usize) {
    let mut record = vec![0; bytes];
    record[..2].copy_from_slice(&version.to_ne_bytes());
    for &offset in layout.offsets.values().filter(|offset| *offset + 8 <= bytes) {
        record[offset..offset + 8].copy_from_slice(&(offset as u64).to_ne_bytes());
    }
    let at = |name: &str| layout.offsets[name] as u64;
    let used = |names: [&str; 5]| {
        make!(Used {
            runtime_ns: at(names[0]),
            user_ns: at(names[1]),
            system_ns: at(names[2]),
            stolen_ns: if version > 18 { at(names[3]) + at(names[4]) } else { 0 },
        })
    };
    let exact = decode(&record).expect("it is known").exact.expect("it is of the series");
    assert_eq!(exact.start_ns, at("ac_start_boottime"));
    assert_eq!(
        exact.used,
        used(["cpu_runtime", "cpu_utime", "cpu_stime", "cpu_irq_total", "cpu_steal_total"])
    );
    let of_dead = |whose: &str| {
        let names =
            ["runtime", "utime", "stime", "irq", "steal"].map(|what| format!("exited_{whose}_{what}"));
        used([&names[0], &names[1], &names[2], &names[3], &names[4]])
    };
    let expected = || {
        make!(Dead {
            accounting_parent: at("ac_acct_ppid") as u32,
            threads: of_dead("threads"),
            children: of_dead("children"),
        })
    };
    assert_eq!(exact.dead, (version > 19).then(expected), "version {version}");
}
