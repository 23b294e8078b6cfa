//! What the workloads claim about themselves, checked against what the kernel says.

mod burn;
mod limits;
mod proc;
mod sleepers;
mod states;
mod storm;
mod zoo;
mod zoo_of_processes;
