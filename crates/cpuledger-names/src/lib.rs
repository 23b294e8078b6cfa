//! What no source tells, and rows that are shown need: names of users, groups and terminals, arguments, cgroups, files of /proc.
//! It is read between the sources and the views, which get rows that are complete; how it is shown is not known here.

pub mod ancestors;
pub mod cgroups;
pub mod containers;
pub mod detail;
mod learnt;
pub mod logins;
pub mod lookups;
pub mod machine;
pub mod manner;
pub mod named;
pub mod names;
mod now;
pub mod row;
pub mod survey;
pub mod systemd;
pub mod terminal;
pub mod watch;
