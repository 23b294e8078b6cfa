//! The protocol as it is in the code: nothing may be wrong in any interleaving.

use cpuledger_protocol::explore::explore;
use cpuledger_protocol::{Mutation, scenario};

/// Explores, and says how much that was.
fn holds(mutation: Mutation, preemptions: usize, scenario: fn(Mutation)) {
    let explored = explore(preemptions, move || scenario(mutation));
    println!("{} interleavings in {:.1?}, preemptions: {preemptions}", explored.runs, explored.took);
    assert_eq!(explored.failure, None);
}

/// One test a scenario, each with its number of preemptions.
macro_rules! scenarios {
    ($($(#[$attribute:meta])* $scenario:ident: $preemptions:expr;)*) => {
        $(#[test]
        $(#[$attribute])*
        fn $scenario() {
            holds(Mutation::None, $preemptions, scenario::$scenario);
        })*
    };
}

scenarios! {
    one_cut: 3;
    one_cpu: 2;
    idle_after_cut: 2;
    long_switch: 3;
    short_interval: 2;
    reused_place: 3;
    late_cut: 3;
    late_cut_and_another: 2;
    late_cut_on_two_cpus: 2;
    clock_ahead: 3;
    clock_behind: 3;
    instant_behind: 3;
    migration: 2;
    migration_with_two_cuts: 1;
    death: 3;
    two_deaths: 2;
    two_deaths_and_a_birth: 2;
    entering: 3;
    entering_by_timer: 3;
    taken_down: 3;
    gone: 3;
    never_switched: 3;
    leaving: 2;
    fold_into_running: 2;
    fold_around_cut: 2;
    two_folds: 2;
    fold_into_dying: 2;
    fold_into_dying_behind: 2;
    leader_dies_first: 2;
    threads_die_without_their_leader: 2;
    last_threads: 2;
    threads_without_a_slot: 2;
    leader_dies_before_thread: 2;
    off_around_cut: 3;
    off_twice: 2;
    off_and_migration: 2;
    off_and_migration_behind: 2;
    free_slots: 3;
    free_slots_in_batches: 3;
    lists_in_batches: 2;
    place_left: 0;
    deaths_in_batches: 2;
    many_cuts: 0;
}

/// Steps of the code that could be left out; the README says why.
#[test]
fn what_the_code_does_more_than_it_must() {
    for mutation in Mutation::HARMLESS {
        let scenarios: &[fn(Mutation)] = match mutation {
            Mutation::ExitNotCleared => &[scenario::two_deaths, scenario::death],
            Mutation::FoldListedLate => &[scenario::fold_into_running, scenario::fold_into_dying],
            Mutation::CollectorOfAnyInterval => {
                &[scenario::leader_dies_first, scenario::threads_die_without_their_leader]
            }
            Mutation::ReaderSwapRelaxed => &[scenario::one_cut, scenario::death],
            Mutation::TwoCuts => &[scenario::short_interval, scenario::many_cuts],
            Mutation::IntervalBeforeGathered => &[scenario::short_interval, scenario::fold_around_cut],
            fault => unreachable!("{fault:?} does harm"),
        };
        scenarios.iter().for_each(|scenario| holds(*mutation, 2, *scenario));
    }
}
