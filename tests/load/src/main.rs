//! `cpuledger-load`: workloads whose truth is known. The library of the same name starts it and reads what it
//! says.

mod cmd;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use cmd::{actor, burn, hostile, kin, read, ring, sleepers, slew, states, storm, title, without_bpf, zoo};

/// Workloads whose truth is known, for cpuledger's tests and benchmarks
#[derive(Parser)]
#[command(version)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Sleepers(sleepers::Arguments),
    States(states::Arguments),
    Storm(storm::Arguments),
    Burn(burn::Arguments),
    Zoo(zoo::Arguments),
    Kin(kin::Arguments),
    Hostile(hostile::Arguments),
    Slew(slew::Arguments),
    Title(title::Arguments),
    WithoutBpf(without_bpf::Arguments),
    Actor(actor::Arguments),
    Read(read::Arguments),
    Ring(ring::Arguments),
}

fn main() -> ExitCode {
    // A member of the zoo that has executed this program again has arguments that mean nothing.
    if let Some(request) = zoo::requested_by_environment() {
        zoo::resume(&request);
    }
    let done = match CommandLine::parse().command {
        Command::Sleepers(arguments) => sleepers::run(&arguments),
        Command::States(arguments) => states::run(&arguments),
        Command::Storm(arguments) => storm::run(&arguments),
        Command::Burn(arguments) => burn::run(&arguments),
        Command::Zoo(arguments) => zoo::run(&arguments),
        Command::Kin(arguments) => kin::run(&arguments),
        Command::Hostile(arguments) => hostile::run(&arguments),
        Command::Slew(arguments) => slew::run(&arguments),
        Command::Title(arguments) => title::run(&arguments),
        Command::WithoutBpf(arguments) => without_bpf::run(&arguments),
        Command::Actor(arguments) => actor::run(&arguments),
        Command::Read(arguments) => read::run(&arguments),
        Command::Ring(arguments) => ring::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cpuledger-load: {error:#}");
            ExitCode::FAILURE
        }
    }
}
