/// Declares the steps done otherwise, and the lists of them.
macro_rules! mutations {
    (
        faults { $($(#[$fault_is:meta])* $fault:ident,)* }
        harmless { $($(#[$harmless_is:meta])* $harmless:ident,)* }
    ) => {
        /// One step of the protocol done otherwise. The protocol as it is in the code is [`Mutation::None`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mutation {
            /// Nothing is wrong.
            None,
            $($(#[$fault_is])* $fault,)*
            $($(#[$harmless_is])* $harmless,)*
        }

        impl Mutation {
            /// Those with which the books are wrong.
            pub const FAULTS: &[Mutation] = &[$(Mutation::$fault,)*];
            /// Those with which they are right: there the code does more than it must.
            pub const HARMLESS: &[Mutation] = &[$(Mutation::$harmless,)*];
        }
    };
}

mutations! {
    faults {
        /// Hook: `current[parity ^ 1]` is written after the compare-and-swap of `run`.
        CurrentWrittenLate,
        /// Hook: the slot of the task that leaves is taken from the wrong entry of `current`.
        CurrentOfWrongParity,
        /// Hook: `run` is stored, whatever the reader has made of it since it was read.
        RunExchanged,
        /// Hook: the second attempt to change `run` books from the start that the first one has read.
        StartNotReread,
        /// Hook: a segment may be empty, so a `run` word may come twice.
        WordComesTwice,
        /// Hook: interval and cut are read before the clock.
        CutReadBeforeClock,
        /// Hook: interval and cut are read before the compare-and-swap of `run`, whose barrier comes after the clock.
        CutReadBeforeSwap,
        /// Hook: by the scheduler's instant a task comes onto a CPU before it has left another.
        OnBeforeOff,
        /// Hook: a proposal counts like a confirmed cut.
        ProposalCounts,
        /// Hook: a proposal that it has come upon too late is not voided.
        ProposalNotVoided,
        /// Hook: a segment that ends after the cut is not split.
        SegmentNotSplit,
        /// Hook: 0 is added to the accumulators before the cut by a segment that lies after it.
        ZeroAddedAfterCut,
        /// Hook: a task that came after the cut is noted as the one that ran at it.
        AnyoneAtCut,
        /// Hook: `booked` is written before the accumulators.
        BookedEarly,
        /// Hook: a task is retired after `booked` is written.
        RetiredLate,
        /// Hook: the compare-and-swap of `run` is no barrier.
        HookSwapRelaxed,
        /// Hook: the exchange of `booked` is no barrier.
        BookedRelaxed,
        /// Hook: the reads of interval and cut do not depend on each other.
        CutReadRelaxed,
        /// Hook: the mark is read and written, not exchanged.
        MarkNotExchanged,
        /// Hook: a dead task ends in the interval in which its last segment begins.
        ExitInFirstInterval,
        /// Hook: a segment of a CPU that is not in the books is booked.
        OutIsBooked,
        /// Hook: what passed before the CPU came into the books is booked after `booked` is written.
        EnteredLate,
        /// Hook: of a CPU that comes back, the time in which it was offline counts as online.
        OfflineIsCapacity,
        /// Hook: when a CPU is taken down, `booked` is written before the accumulators.
        DownBookedEarly,
        /// Hook: a dead task is folded though the cut has passed.
        FoldedAfterCut,
        /// Hook: the slot into which a task is folded is not listed.
        FoldNotListed,
        /// Hook: a dead task is folded though its last segment reaches beyond the cut, and a fold is of both intervals.
        FoldedAcrossCut,
        /// Hook: time is moved to another slot by reading and writing.
        FoldNotAtomic,
        /// Hook: a folded slot keeps its `exit_interval`.
        FoldedSlotExits,
        /// Hook: each of several tasks that are the last of a process takes the slot that collects its time.
        CollectorTakenTwice,
        /// Hook: the slot of a leader to which the time of a thread is added is not listed.
        ProcessNotListed,
        /// Hook: that time is added by reading and writing.
        ProcessNotAtomic,
        /// Hook: the head of the free slots has no tag.
        UntaggedHead,
        /// Hook: what a task did at the cut is not left for the reader when it comes back.
        OffNotLeft,
        /// Hook: it is left when `off` is overwritten already.
        OffLeftLate,
        /// Hook: the exchange that leaves it is no barrier.
        OffLeftRelaxed,
        /// Hook: time off the CPU is booked in an interval whose cut has passed.
        OffBookedAfterCut,

        /// Reader: does not look at the clock before it confirms a cut.
        ClockNotRead,
        /// Reader: looks at the clock, but not whether another CPU's may be ahead of it.
        NoMargin,
        /// Reader: confirms by a store.
        ConfirmedByStore,
        /// Reader: no barrier between the proposal and the clock.
        ProposedWithoutBarrier,
        /// Reader: reads `current[parity]` after the compare-and-swap of `run`.
        CurrentReadLate,
        /// Reader: stores `run`.
        RunStored,
        /// Reader: does not wait for `booked` when it has closed a CPU itself.
        BookedNotAwaited,
        /// Reader: does not wait for `booked` when a CPU has switched since the cut.
        SplitNotAwaited,
        /// Reader: a thread without a slot that runs at the cut is passed over.
        ThreadWithoutSlotForgotten,
        /// Reader: waits for `booked` to repeat a word that it has written itself.
        OwnWordAwaited,
        /// Reader: waits for `booked` to repeat the word that it has prepared before the first switch.
        PreparedWordAwaited,
        /// Reader: its first look at `run` orders nothing.
        RunReadRelaxed,
        /// Reader: its read of `booked` orders nothing.
        AwaitRelaxed,
        /// Reader: its store of the interval orders nothing.
        IntervalRelaxed,
        /// Reader: its exchange of the head of the free slots orders nothing.
        FreeRelaxed,
        /// Reader: gathers each CPU before it closes the next.
        GatheredBeforeAllClosed,
        /// Reader: leaves out tasks that ran from cut to cut.
        WholeIntervalForgotten,
        /// Reader: publishes the next interval and its cut before it has gathered the closed one.
        CutBeforeGathered,
        /// Reader: publishes the next interval and its cut before it has emptied the list of the closed one.
        CutBeforeListEmptied,
        /// Reader: does not clear the place of the next cut.
        PlaceNotCleared,
        /// Reader: clears the place of the next cut after it has published its interval.
        PlaceClearedLate,
        /// Reader: the slot that ran at the cut is not cleared.
        AtCutNotCleared,
        /// Reader: frees the slot of a dead task at the first list that it finds it on.
        FreedEarly,
        /// Reader: leaves a slot that has collected the time of a process in the index.
        CollectorLeftInIndex,
        /// Reader: leaves the places of the list as they are.
        ListNotEmptied,
        /// Reader: looks whether something was left for it before it reads `off`.
        OffReadLate,
        /// Reader: its reads of both order nothing.
        OffReadRelaxed,
        /// Reader: leaves the accumulators as they are.
        NotZeroed,
        /// Reader: leaves out the time of a CPU on which no hook has seen what ran up to the cut.
        UncoveredForgotten,

        /// Both: intervals are numbered from 0, which is also the mark of a slot that was never listed.
        NumberedFromZero,
    }

    harmless {
        /// Hook: a new slot keeps the `exit_interval` of the one before.
        ExitNotCleared,
        /// Hook: the slot into which a task is folded is listed after the time was moved.
        FoldListedLate,
        /// Both: there are two places for cuts.
        TwoCuts,
        /// Hook: a slot that has collected the time of a process in an interval before is taken for one that does.
        CollectorOfAnyInterval,
        /// Reader: its compare-and-swap of `run` orders nothing.
        ReaderSwapRelaxed,
        /// Reader: publishes the next interval before it has gathered the closed one; its cut comes after that.
        IntervalBeforeGathered,
    }
}
