//! Each step done wrongly must make the comparison fail, or the step would not be needed or the model would not see it.

use cpuledger_protocol::Mutation::{self, *};
use cpuledger_protocol::explore::{Explored, explore};
use cpuledger_protocol::scenario;

/// What loom says when a run does not end.
const ENDLESS: &str = "Model exceeded maximum number of branches";

/// How a mutation is caught: what the failure says, with how many preemptions, and in which scenario.
type Case = (&'static str, usize, fn(Mutation));

fn case(mutation: Mutation) -> Case {
    match mutation {
        CurrentWrittenLate => ("tasks: ", 2, scenario::one_cut),
        CurrentOfWrongParity => ("tasks: ", 2, scenario::one_cut),
        RunExchanged => ("books: ", 2, scenario::one_cut),
        StartNotReread => ("balance: ", 2, scenario::one_cut),
        WordComesTwice => ("books: ", 2, scenario::clock_behind),
        CutReadBeforeClock => ("balance: ", 2, scenario::one_cut),
        CutReadBeforeSwap => ("balance: ", 2, scenario::one_cut),
        OnBeforeOff => ("off: ", 2, scenario::off_and_migration_behind),
        ProposalCounts => ("balance: ", 2, scenario::late_cut_and_another),
        ProposalNotVoided => ("balance: ", 2, scenario::late_cut),
        SegmentNotSplit => ("balance: ", 2, scenario::one_cut),
        ZeroAddedAfterCut => ("balance: ", 2, scenario::idle_after_cut),
        AnyoneAtCut => ("at the cut: ", 2, scenario::one_cut),
        BookedEarly => ("balance: ", 2, scenario::one_cut),
        RetiredLate => ("books: ", 2, scenario::death),
        HookSwapRelaxed => ("books: ", 2, scenario::one_cut),
        BookedRelaxed => ("balance: ", 2, scenario::one_cut),
        CutReadRelaxed => ("balance: ", 2, scenario::reused_place),
        MarkNotExchanged => ("list", 2, scenario::two_folds),
        ExitInFirstInterval => ("books: ", 2, scenario::death),
        OutIsBooked => ("tasks: ", 2, scenario::entering),
        EnteredLate => ("balance: ", 2, scenario::entering),
        FoldedAfterCut => ("books: ", 2, scenario::fold_around_cut),
        FoldNotListed => ("balance: ", 2, scenario::fold_into_running),
        FoldedAcrossCut => ("books: ", 2, scenario::fold_into_dying_behind),
        FoldNotAtomic => ("balance: ", 2, scenario::two_folds),
        FoldedSlotExits => ("freed twice", 2, scenario::fold_into_running),
        CollectorTakenTwice => ("freed twice", 2, scenario::last_threads),
        CollectorLeftInIndex => ("free and in use", 2, scenario::leader_dies_first),
        ProcessNotListed => ("balance: ", 2, scenario::threads_without_a_slot),
        ProcessNotAtomic => ("balance: ", 2, scenario::threads_without_a_slot),
        ThreadWithoutSlotForgotten => ("balance: ", 2, scenario::threads_without_a_slot),
        UntaggedHead => ("in use", 3, scenario::free_slots),
        OffNotLeft => ("off: ", 2, scenario::off_around_cut),
        OffLeftLate => ("off: ", 3, scenario::off_around_cut),
        OffLeftRelaxed => ("off: ", 3, scenario::off_around_cut),
        OffBookedAfterCut => ("off: ", 2, scenario::off_around_cut),
        OffReadLate => ("off: ", 3, scenario::off_around_cut),
        OffReadRelaxed => ("off: ", 3, scenario::off_around_cut),
        ClockNotRead => ("balance: ", 2, scenario::late_cut_and_another),
        NoMargin => ("balance: ", 2, scenario::clock_ahead),
        ConfirmedByStore => ("balance: ", 2, scenario::late_cut),
        ProposedWithoutBarrier => ("balance: ", 2, scenario::late_cut),
        CurrentReadLate => ("tasks: ", 2, scenario::one_cut),
        RunStored => ("balance: ", 2, scenario::one_cut),
        BookedNotAwaited => ("balance: ", 2, scenario::one_cut),
        SplitNotAwaited => ("balance: ", 2, scenario::one_cut),
        OwnWordAwaited => (ENDLESS, 2, scenario::one_cpu),
        PreparedWordAwaited => (ENDLESS, 2, scenario::never_switched),
        RunReadRelaxed => ("books: ", 2, scenario::one_cut),
        AwaitRelaxed => ("balance: ", 2, scenario::one_cut),
        IntervalRelaxed => ("balance: ", 2, scenario::reused_place),
        FreeRelaxed => ("books: ", 3, scenario::two_deaths_and_a_birth),
        GatheredBeforeAllClosed => ("books: ", 2, scenario::migration),
        WholeIntervalForgotten => ("balance: ", 2, scenario::long_switch),
        CutBeforeGathered => ("books: ", 2, scenario::short_interval),
        CutBeforeListEmptied => ("books: ", 2, scenario::short_interval),
        PlaceNotCleared => ("balance: ", 2, scenario::many_cuts),
        PlaceClearedLate => ("balance: ", 2, scenario::reused_place),
        AtCutNotCleared => ("at the cut: ", 2, scenario::one_cut),
        FreedEarly => ("books: ", 2, scenario::death),
        ListNotEmptied => ("lists", 0, scenario::place_left),
        NotZeroed => ("books: ", 2, scenario::one_cpu),
        OfflineIsCapacity => ("balance: ", 2, scenario::taken_down),
        DownBookedEarly => ("balance: ", 2, scenario::taken_down),
        UncoveredForgotten => ("balance: ", 2, scenario::entering),
        NumberedFromZero => ("books: ", 2, scenario::one_cut),
        harmless => unreachable!("{harmless:?} does no harm"),
    }
}

fn run(mutation: Mutation, (_, preemptions, scenario): Case) -> Explored {
    explore(preemptions, move || scenario(mutation))
}

#[test]
fn every_fault_is_caught() {
    let mut missed = String::new();
    for mutation in Mutation::FAULTS {
        let case = case(*mutation);
        let explored = run(*mutation, case);
        let failure = explored.failure.unwrap_or_else(|| "no failure".into());
        println!("{mutation:?}: {} interleavings, {:.1?}: {failure}", explored.runs, explored.took);
        if !failure.contains(case.0) {
            missed += &format!("{mutation:?}, after {} interleavings: {failure}\n", explored.runs);
        }
    }
    assert!(missed.is_empty(), "not caught, or otherwise than expected:\n{missed}");
}
