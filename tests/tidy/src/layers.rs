//! What may import what: crates, and the files of a crate, in an order from the bottom to the top. What is above imports what is below,
//! never the other way round.

use std::collections::BTreeMap;

use crate::imports::Imports;

/// The crates of the product from the bottom to the top.
pub const CRATES: &[&str] = &[
    "cpuledger-proc",
    "cpuledger-model",
    "cpuledger-names",
    "cpuledger-report",
    "cpuledger-recording",
    "cpuledger-program",
    "cpuledger-export",
    "cpuledger-service",
    "cpuledger-client",
    "cpuledger-net",
    "cpuledger-bpf",
    "cpuledger",
    "cpuledger-view",
    "cpuledger-cli",
];

/// A package whose files have an order.
#[derive(Debug, Clone, Copy)]
pub struct Layers {
    /// Its folder.
    pub package: &'static str,
    /// From the bottom to the top, below `src/`: files, or folders with all that is in them, without `.rs`. The more exact name decides.
    /// Files of one layer may import each other.
    pub from_below: &'static [&'static str],
}

/// Crates that touch nothing: no file, no clock, no system call. With each, the beginnings of paths that it does not use.
pub const PURE: &[(&str, &[&str])] = &[
    ("crates/cpuledger-proc", TOUCHING),
    ("crates/cpuledger-model", TOUCHING),
    ("crates/cpuledger-report", TOUCHING),
    ("crates/cpuledger-view", TOUCHING),
];

/// The beginnings of paths to what touches files, clocks or the kernel.
const TOUCHING: &[&str] = &[
    "cpuledger_names::logins",
    "cpuledger::facts",
    "cpuledger::machine",
    "cpuledger::source::open",
    "cpuledger::support",
    "libc",
    "nix",
    "rustix",
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time",
];

/// The orders. A new file belongs to one of these, or gets a place of its own.
pub const LAYERS: &[Layers] = &[
    Layers {
        package: "crates/cpuledger-proc",
        from_below: &[
            "invisible",
            "escape",
            "number",
            "count",
            "signal",
            "entries",
            "cpu_list",
            "task/cgroup",
            "task",
            "machine",
        ],
    },
    Layers {
        package: "crates/cpuledger-service",
        from_below: &[
            "mapping",
            "sealed",
            "ring/protocol",
            "ring/layout",
            "ring/error",
            "ring/reader",
            "ring/owner",
            "ring/hostile",
            "ring/interleavings",
            "ring",
            "varlink/names",
            "varlink/message",
            "varlink/refusal",
            "varlink/interface",
            "varlink",
            "descriptors",
            "inherited",
            "client",
            "server/limits",
            "server/users",
            "server/listen",
            "server/options",
            "server/peer",
            "server/handler",
            "server/connection",
            "server/unread",
            "server/serve",
            "server",
        ],
    },
    Layers {
        package: "crates/cpuledger-model",
        from_below: &[
            "buffer",
            "account",
            "boottime",
            "field_table",
            "frame/error",
            "frame/layout",
            "frame/trim",
            "frame/names",
            "frame/column",
            "frame/table",
            "frame/sections",
            "frame/bounds",
            "frame/owners",
            "frame/encode",
            "frame/decode",
            "frame/chain/link",
            "frame/chain/bits",
            "frame/chain/rules",
            "frame/chain/needs",
            "frame/chain/memory",
            "frame/chain/predict",
            "frame/chain/whole",
            "frame/chain/write",
            "frame/chain/read",
            "frame/chain",
            "frame/merge/rows",
            "frame/merge/deaths",
            "frame/merge/states",
            "frame/merge",
            "frame",
            "field_set",
            "task",
            "field",
            "source_kind",
            "exit",
            "counters",
            "states",
            "snapshot",
            "interval",
            "framing",
        ],
    },
    Layers {
        package: "crates/cpuledger-report",
        from_below: &[
            "amounts",
            "balance",
            "dimension",
            "instants",
            "names",
            "deaths",
            "groups",
            "table",
            "branch",
            "lineage",
            "report",
            "accumulator",
        ],
    },
    Layers {
        package: "crates/cpuledger-recording",
        from_below: &[
            "error",
            "extent",
            "boots",
            "length",
            "layout",
            "source",
            "compress",
            "index",
            "folder",
            "files",
            "scan",
            "segment",
            "loss",
            "part",
            "order",
            "span",
            "recording",
            "writer/options",
            "writer/times",
            "writer/deleted",
            "writer/boots",
            "writer/merged",
            "writer/open_segment",
            "writer/track",
            "writer/retention",
            "writer/catch_up",
            "writer",
        ],
    },
    Layers {
        package: "crates/cpuledger-program",
        from_below: &[
            "closed",
            "colors",
            "draft",
            "output",
            "exit",
            "end",
            "memory",
            "name_service",
            "place",
            "export",
            "metrics",
            "push",
            "mcp",
            "setuid",
            "start",
            "when",
            "recording",
        ],
    },
    Layers {
        package: "crates/cpuledger-names",
        from_below: &[
            "manner",
            "now",
            "lookups",
            "identity",
            "learnt",
            "containers/state",
            "containers/bundle",
            "containers/storage",
            "containers/pods",
            "containers/runs",
            "containers",
            "watch",
            "survey",
            "cgroups",
            "systemd",
            "named",
            "ancestors",
            "names",
            "terminal",
            "logins",
            "machine",
            "detail",
            "row",
        ],
    },
    Layers {
        package: "crates/cpuledger-export",
        from_below: &[
            "destination",
            "error",
            "schema",
            "names",
            "builder",
            "cgroups",
            "table",
            "text",
            "format",
            "progress",
            "file_name",
            "rights",
            "store",
            "output",
            "options",
            "summary",
            "segment",
            "export",
            "command",
        ],
    },
    Layers {
        package: "crates/cpuledger-client",
        from_below: &[
            "clock",
            "cpus",
            "stop",
            "error",
            "balance",
            "namespace",
            "families",
            "gap",
            "replay",
            "service/connection",
            "service/families",
            "service/follower",
            "service/gathering",
            "service/listing",
            "service/reader",
            "service",
            "descent",
            "client",
            "measure",
        ],
    },
    Layers {
        package: "crates/cpuledger-net",
        from_below: &[
            "gzip",
            "own",
            "totals",
            "users",
            "labels",
            "series",
            "scrapers",
            "modes",
            "processes",
            "books",
            "families",
            "exposition",
            "follow",
            "otlp/messages",
            "otlp/target",
            "otlp/queue",
            "otlp/snapshot",
            "otlp/delivery",
            "otlp",
            "push",
            "mcp/read",
            "mcp/answer",
            "mcp",
            "hosts",
            "access",
            "listen",
            "web_config",
            "server",
            "command",
        ],
    },
    Layers {
        package: "crates/cpuledger-bpf",
        from_below: &[
            "abi",
            "io_priority",
            "real_time",
            "threads",
            "facts",
            "log",
            "error",
            "cpus",
            "probe",
            "map",
            "btf",
            "object",
            "records",
            "exits",
            "walk",
            "inspect",
            "status",
            "ledger/turns",
            "ledger/clock",
            "ledger/online",
            "ledger/shared",
            "ledger/entry",
            "ledger/off",
            "ledger/interval",
            "ledger/cut",
            "ledger/parts",
            "ledger/watch",
            "ledger/mod",
            "ledger/births",
            "ledger/waiting",
            "ledger/attach",
            "ledger/kept",
            "ledger/machine",
            "ledger/owned",
            "ledger",
            "fuzzing",
        ],
    },
    Layers {
        package: "crates/cpuledger",
        from_below: &[
            "caller",
            "error",
            "life",
            "audience",
            "machine",
            "facts",
            "attribution",
            "source/interface",
            "source/io_access",
            "source/records",
            "source/kernel_text",
            "source/procfs",
            "source/unseen",
            "source/totals",
            "source/families",
            "source/walk",
            "source/netlink",
            "source/ledger",
            "source/service",
            "source/cost",
            "source/open",
            "source/choose",
            "source/status",
            "source",
            "intervals/snapshots",
            "intervals",
            "support",
            "host_statistics",
            "fuzzing",
        ],
    },
    Layers {
        package: "crates/cpuledger-view",
        from_below: &[
            "near",
            "width",
            "sort",
            "filter",
            "tree",
            "file_figures",
            "cell",
            "figure",
            "column",
            "key",
            "member",
            "group",
            "csv",
            "json",
            "layout",
            "table",
            "interval/column",
            "shares",
            "interval",
            "query",
            "report/document",
            "report/text",
            "report/json",
            "report/csv",
            "report/html/escape",
            "report/html/chart",
            "report/html/icicle",
            "report/html",
            "report",
        ],
    },
    Layers {
        package: "bindings/python",
        from_below: &[
            "error",
            "columns",
            "books",
            "row",
            "arrow",
            "table",
            "interval",
            "join",
            "follow",
            "recording",
            "listing",
            "measure",
        ],
    },
    Layers {
        package: "crates/cpuledger-cli",
        from_below: &[
            "values",
            "exit",
            "memory",
            "stop",
            "privileges",
            "record/limits",
            "record/beside",
            "record/recorder",
            "record",
            "cmd/top/terminal",
            "cmd/top/order",
            "cmd/top/replay",
            "cmd/top/options",
            "cmd/top/select",
            "cmd/top/collect",
            "tui/action",
            "tui/keys",
            "tui/theme",
            "tui/victim",
            "tui/travel",
            "tui/effect",
            "tui/frame",
            "tui/past",
            "tui/file_detail",
            "tui/event",
            "tui/subscription",
            "tui/config",
            "tui/choices",
            "tui/history",
            "tui/listing",
            "tui/mode",
            "tui/state",
            "tui/input",
            "tui/view/canvas",
            "tui/view/strip",
            "tui/view/states",
            "tui/view",
            "tui/idle_task_cache",
            "tui/on_purpose",
            "tui/feed",
            "tui/reader",
            "tui/act",
            "tui/export",
            "tui/backend",
            "tui/terminal",
            "tui/play",
            "tui/matching",
            "tui/timeline",
            "tui/app",
            "tui/fixture",
            "recorded",
            "tui/recorded",
            "tui",
            "cmd/ps/number",
            "cmd/ps/items",
            "cmd/ps/macros",
            "cmd/ps/personality",
            "cmd/ps/specifiers",
            "cmd/ps/options",
            "cmd/ps/screen",
            "cmd/ps/format",
            "cmd/ps/order",
            "cmd/ps/selection",
            "cmd/ps/flags",
            "cmd/ps/parse",
            "cmd/ps/plan",
            "cmd/ps/survivors",
            "cmd/ps/page",
            "cmd/ps/parallel",
            "cmd/ps/listing",
            "cmd/ps/info",
            "cmd/ps/help",
            "cmd/ps/recorded",
            "cmd/ps",
            "cmd/top/procps/entry",
            "cmd/top/procps/who",
            "cmd/top/procps/fields",
            "cmd/top/procps/options",
            "cmd/top/procps/head",
            "cmd/top/procps/table",
            "cmd/top/procps/batch",
            "cmd/top/procps/recorded",
            "cmd/top/procps",
            "cmd/top",
            "cmd/record",
            "cmd/serve/log",
            "cmd/serve/config",
            "cmd/serve/budget",
            "cmd/serve/manager",
            "cmd/serve/signals",
            "cmd/serve/room",
            "cmd/serve/audiences",
            "cmd/serve/requests",
            "cmd/serve/recording",
            "cmd/serve/reload",
            "cmd/serve/handover",
            "cmd/serve/books",
            "cmd/serve/listing",
            "cmd/serve/control",
            "cmd/serve",
            "cmd/external",
            "cmd/report/fleet",
            "cmd/report/names",
            "cmd/report/output_file",
            "cmd/report/progress",
            "cmd/report/read",
            "cmd/report",
            "cmd/run/launch",
            "cmd/run/print",
            "cmd/run",
            "cmd/doctor",
            "cmd/status",
            "cli",
            "cmd",
            "pages",
            "registry",
            "fuzzing",
        ],
    },
];

impl Layers {
    /// The place of a file in the order; `None`: it has none. The root of the crate is above all.
    fn place(&self, file: &str) -> Option<usize> {
        let name = file.strip_prefix(self.package)?.strip_prefix("/src/")?.strip_suffix(".rs")?;
        if matches!(name, "lib" | "main") {
            return Some(self.from_below.len());
        }
        let is_in = |layer: &str| {
            name.strip_prefix(layer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let layers = self.from_below.iter().enumerate().filter(|(_, layer)| is_in(layer));
        layers.max_by_key(|(_, layer)| layer.len()).map(|(place, _)| place)
    }

    /// A sentence for each import of a later layer, and for each file without a place.
    pub fn findings(&self, imports: &Imports) -> Vec<String> {
        let without = imports.files.iter().filter(|file| self.place(file).is_none());
        let mut findings: Vec<String> = without
            .map(|file| format!("{file}: it has no place in the layers of {}", self.package))
            .collect();
        for ((from, to), names) in &imports.edges {
            let (Some(below), Some(above)) = (self.place(from), self.place(to)) else { continue };
            if above > below {
                let line = names.values().min().copied().unwrap_or(0);
                let names: Vec<&str> = names.keys().map(String::as_str).collect();
                findings.push(format!(
                    "{from}:{line}: it imports {} from {to}, which is above it",
                    names.join(", ")
                ));
            }
        }
        findings
    }
}

/// A sentence for each path in a pure crate that leads to what touches the machine.
pub fn impurities(imports: &Imports, touching: &[&str]) -> Vec<String> {
    let touches = |path: &str| {
        touching.iter().any(|begin| {
            path.strip_prefix(begin).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        })
    };
    let found = imports.written.iter().filter(|((_, path), _)| touches(path));
    found
        .map(|((file, path), line)| format!("{file}:{line}: {path} in a crate that touches nothing"))
        .collect()
}

/// A sentence for each crate of the product that depends on one above it: by name its `Cargo.toml`.
pub fn upward_dependencies(manifests: &BTreeMap<&str, String>) -> Vec<String> {
    let place = |name: &str| CRATES.iter().position(|known| *known == name);
    let mut findings = Vec::new();
    for (name, manifest) in manifests {
        let Some(below) = place(name) else {
            findings.push(format!("{name}: it has no place among the crates"));
            continue;
        };
        let mut is_in_dependencies = false;
        for (number, line) in (1..).zip(manifest.lines()) {
            if let Some(section) = line.strip_prefix('[') {
                is_in_dependencies = section.trim_end_matches(']').ends_with("dependencies");
            }
            let dependency = line.split(['.', ' ', '=']).next().unwrap_or_default();
            // A crate that depends on itself gets a feature in its tests.
            if is_in_dependencies && place(dependency).is_some_and(|above| above > below) {
                findings.push(format!(
                    "{name}/Cargo.toml:{number}: it depends on {dependency}, which is not below it"
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests;
