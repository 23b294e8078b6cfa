//! Frames of intervals that the attribution engine settled, merged in any grouping, against one interval that it settled without a cut.

use std::collections::{BTreeMap, HashMap};

use cpuledger::attribution::{Attribution, Parts};
use cpuledger::{TaskId, Tid};
use cpuledger_model::frame::{Column, Frame, Section};
use proptest::prelude::*;

mod families;

use families::{Event, Slot, World, event};

/// Puts the rows of a section: task, process, and time.
fn put(frame: &mut Frame, section: Section, rows: &[(TaskId, TaskId, u64)]) {
    let table = frame.table_mut(section);
    table.reset(rows.len());
    table.fill_signed(Column::TID, rows.iter().map(|(task, _, _)| Some(task.tid.0.into())));
    table.fill(Column::START_TIME_NS, rows.iter().map(|(task, _, _)| Some(task.start_time_ns.ns())));
    table.fill_signed(Column::PID, rows.iter().map(|(_, process, _)| Some(process.tid.0.into())));
    table.fill(Column::PROCESS_START_NS, rows.iter().map(|(_, process, _)| Some(process.start_time_ns.ns())));
    table.fill(Column::CPU_NS, rows.iter().map(|(_, _, ns)| Some(*ns)));
}

fn put_heirs(frame: &mut Frame, section: Section, heirs: &[TaskId]) {
    let table = frame.table_mut(section);
    table.fill_signed(Column::ACCOUNTING_PPID, heirs.iter().map(|heir| Some(heir.tid.0.into())));
    table.fill(Column::ACCOUNTING_START_NS, heirs.iter().map(|heir| Some(heir.start_time_ns.ns())));
}

/// Closes the interval that began then.
fn close(world: &mut World, attribution: &mut Attribution, start_ns: u64) -> Frame {
    let mut accounts = HashMap::with_hasher(Default::default());
    attribution.settle(world.now_ns, &world.increments(), &mut accounts);
    let mut accounts: Vec<(TaskId, Parts)> =
        accounts.into_iter().filter(|(_, parts)| parts.total_ns() > 0).collect();
    accounts.sort_by_key(|(process, _)| *process);
    let mut frame = Frame::new();
    let rows: Vec<_> = accounts.iter().map(|(id, parts)| (*id, *id, parts.total_ns())).collect();
    put(&mut frame, Section::Processes, &rows);
    let table = frame.table_mut(Section::Processes);
    table.fill(Column::SELF_NS, accounts.iter().map(|(_, parts)| Some(parts.self_ns)));
    table.fill(Column::EXITED_THREADS_NS, accounts.iter().map(|(_, parts)| Some(parts.exited_threads_ns)));
    table.fill(Column::EXITED_CHILDREN_NS, accounts.iter().map(|(_, parts)| Some(parts.exited_children_ns)));
    let heirs: Vec<TaskId> = accounts.iter().map(|(id, _)| attribution.heir(*id)).collect();
    put_heirs(&mut frame, Section::Processes, &heirs);
    let row = |slot: &Slot| (slot.task, world.processes[slot.process].id, slot.own_ns);
    let living = world.slots.iter().filter(|slot| !slot.is_over && slot.own_ns > 0);
    put(&mut frame, Section::Tasks, &living.map(row).collect::<Vec<_>>());
    let dead: Vec<Slot> = world.slots.iter().filter(|slot| slot.has_died).copied().collect();
    put(&mut frame, Section::Exited, &dead.iter().map(row).collect::<Vec<_>>());
    let ends = dead.iter().map(|slot| Some(slot.process_is_dead.into()));
    frame.table_mut(Section::Exited).fill(Column::ENDS_PROCESS, ends);
    let heirs: Vec<TaskId> =
        dead.iter().map(|slot| attribution.heir(world.processes[slot.process].id)).collect();
    put_heirs(&mut frame, Section::Exited, &heirs);
    let renumbered = world.slots.iter().filter(|slot| slot.is_over && !slot.has_died);
    put(&mut frame, Section::Renumbered, &renumbered.map(row).collect::<Vec<_>>());
    for (column, value) in [
        (Column::START_NS, start_ns),
        (Column::END_NS, world.now_ns),
        (Column::CAPACITY_NS, accounts.iter().map(|(_, parts)| parts.total_ns()).sum()),
        (Column::IDLE_NS, 0),
    ] {
        frame.set_figure(column, Some(value));
    }
    attribution.forget(world.now_ns);
    world.open_interval();
    frame
}

/// The rows of a section, sorted, without those that have nothing.
fn rows(frame: &Frame, section: Section, columns: &[Column]) -> Vec<Vec<Option<u64>>> {
    let table = frame.table(section);
    let row = |row| {
        let id =
            [Column::TID, Column::PID].map(|column| table.get_signed(column, row).map(i64::cast_unsigned));
        let rest = [Column::START_TIME_NS].iter().chain(columns).map(|column| table.get(*column, row));
        id.into_iter().chain(rest).collect::<Vec<_>>()
    };
    let mut rows: Vec<_> = (0..table.len()).map(row).collect();
    rows.sort_unstable();
    rows
}

fn assert_same(found: &Frame, expected: &Frame) -> Result<(), TestCaseError> {
    const PARTS: &[Column] =
        &[Column::CPU_NS, Column::SELF_NS, Column::EXITED_THREADS_NS, Column::EXITED_CHILDREN_NS];
    const DEAD: &[Column] = &[Column::CPU_NS, Column::ACCOUNTING_START_NS, Column::ENDS_PROCESS];
    let same = |section, columns| (rows(found, section, columns), rows(expected, section, columns));
    let (found_rows, expected_rows) = same(Section::Processes, PARTS);
    prop_assert_eq!(found_rows, expected_rows);
    let (found_rows, expected_rows) = same(Section::Tasks, &[Column::CPU_NS]);
    prop_assert_eq!(found_rows, expected_rows);
    let (found_rows, expected_rows) = same(Section::Exited, DEAD);
    prop_assert_eq!(found_rows, expected_rows);
    let processes = found.table(Section::Processes);
    let sum = (0..processes.len()).filter_map(|row| processes.get(Column::CPU_NS, row)).sum::<u64>();
    prop_assert_eq!(Some(sum), found.figure(Column::CAPACITY_NS), "it balances");
    prop_assert_eq!(found.figure(Column::CAPACITY_NS), expected.figure(Column::CAPACITY_NS));
    Ok(())
}

/// What was settled and merged is what a search upwards through all processes finds.
fn assert_is(found: &Frame, reference: &BTreeMap<TaskId, Parts>) -> Result<(), TestCaseError> {
    let expected = reference.iter().map(|(process, parts)| {
        let figures =
            [process.start_time_ns.ns(), parts.self_ns, parts.exited_threads_ns, parts.exited_children_ns];
        let id = i64::from(process.tid.0).cast_unsigned();
        [id, id].into_iter().chain(figures).map(Some).collect::<Vec<_>>()
    });
    let columns = [Column::SELF_NS, Column::EXITED_THREADS_NS, Column::EXITED_CHILDREN_NS];
    prop_assert_eq!(rows(found, Section::Processes, &columns), expected.collect::<Vec<_>>());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn frames_merge_to_what_one_interval_tells(
        events in prop::collection::vec(event(), 1..150),
        choices in prop::collection::vec(0usize..64, 8),
    ) {
        let (mut world, mut attribution) = (World::new(), Attribution::default());
        let (mut whole, mut of_whole) = (World::new(), Attribution::default());
        let (mut frames, begin_ns) = (Vec::new(), world.now_ns);
        let mut start_ns = begin_ns;
        let run_last = [Event::Run(0, 1), Event::Cut];
        for event in events.into_iter().filter(|event| !matches!(event, Event::Sleep(_))).chain(run_last) {
            world.act(event);
            whole.act(event);
            if matches!(event, Event::Cut) {
                frames.push(close(&mut world, &mut attribution, start_ns));
                start_ns = world.now_ns;
            }
        }
        let reference = whole.reference();
        let expected = close(&mut whole, &mut of_whole, begin_ns);
        let mut choices = choices.iter().cycle();
        while frames.len() > 1 {
            let place = choices.next().expect("there are some") % (frames.len() - 1);
            let later = frames.remove(place + 1);
            frames[place] = frames[place].merge(&later).expect("they are neighbours");
        }
        assert_same(&frames[0], &expected)?;
        assert_is(&frames[0], &reference)?;
    }
}

#[test]
fn ids_of_tasks_are_unique_in_the_reference() {
    let mut world = World::new();
    (0..40).for_each(|who| world.act(if who % 2 == 0 { Event::Fork(who) } else { Event::Spawn(who) }));
    let mut tids: Vec<Tid> = world.slots.iter().map(|slot| slot.task.tid).collect();
    tids.sort_unstable();
    tids.dedup();
    assert_eq!(tids.len(), world.slots.len());
}
