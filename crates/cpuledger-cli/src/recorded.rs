//! What outputs are recorded of: see [`cpuledger_load::Transcript`].

pub mod machine;
