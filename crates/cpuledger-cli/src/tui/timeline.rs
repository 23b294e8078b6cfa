//! Time as the screen goes through it: the intervals that it has seen, and those of a recording.

mod cells;
mod following;
mod playing;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use cpuledger::source::replay::{Glance, RecordedFacts, Spot};
use cpuledger::{Boottime, Interval, machine};
use cpuledger_names::lookups::Lookups;
use cpuledger_names::machine::Machine;
use cpuledger_names::named::{self, Namer};
use cpuledger_names::names::Names;
use cpuledger_program::when::{self, Named};
use cpuledger_recording::When;
use cpuledger_view::query::Query;

use super::frame::{Around, Frame};
use super::listing::Arguments;
use super::matching::matches;
use super::past::{Past, learn_users};
use super::play::{Play, Speed};
use super::travel::{Cell, Strip, Travel};
use crate::cmd::top::replay::{Asked, Begin, Behind, Recorded, lost_sentence, notice};

/// How long it searches or reads neighbours before it looks for keys.
const TURN: Duration = Duration::from_millis(20);

/// By how much the begin of an interval may differ between the screen and a recording, which read the clock at different times.
const SLACK_NS: u64 = 5_000_000;

/// Between two looks for recordings.
const PAUSE: Duration = Duration::from_secs(1);

/// The shortest time between two intervals that play.
const SHORTEST: Duration = Duration::from_millis(40);

/// Where an interval is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Point {
    /// Among those that the screen has seen.
    Past(u64),
    /// In the recording.
    Recorded(Spot),
}

/// The interval that is shown.
#[derive(Debug)]
struct Here {
    point: Point,
    next: Option<Point>,
    /// Begin and end, CLOCK_REALTIME.
    start_ns: u64,
    end_ns: u64,
    /// Its boot, and its begin, CLOCK_MONOTONIC.
    begin: (Option<String>, u64),
    /// What is to be said of it.
    notice: Option<String>,
    is_gap: bool,
    is_of_other_boot: bool,
}

/// A search, and how far it has come.
#[derive(Debug)]
struct Search {
    query: Query,
    point: Option<Point>,
}

/// What a way through time leads to.
#[derive(Debug, Default)]
pub struct Arrival {
    /// What is shown from now on.
    pub frame: Option<Box<Frame>>,
    /// What is to be said.
    pub said: Option<anyhow::Result<String>>,
}

impl Arrival {
    fn saying(sentence: impl Into<String>) -> Arrival {
        Arrival { frame: None, said: Some(Ok(sentence.into())) }
    }
}

/// Time.
#[derive(Debug)]
pub struct Timeline {
    past: Past,
    recorded: Option<Recorded>,
    /// Some of it could not be read at the last look, which was said.
    has_failed: bool,
    /// Where this screen records to.
    path: Option<PathBuf>,
    /// Whether it was looked for recordings, because what the screen has seen does not go back far enough.
    has_looked: bool,
    /// Why one cannot be read.
    unread: Option<String>,
    /// Whether intervals come from the machine.
    is_live: bool,
    /// Whether what is recorded from now on is shown as it comes.
    is_following: bool,
    /// When it was last looked whether there is more of the recording.
    looked: Instant,
    here: Option<Here>,
    play: Option<Play>,
    speed: Speed,
    search: Option<Search>,
    cells: VecDeque<(Point, Cell)>,
    /// Whether there is nothing to be added to the cells on this side.
    is_whole: [bool; 2],
    users: Names,
    namer: Namer,
    machine: Machine,
    own_boot_id: Option<String>,
}

impl Timeline {
    /// Of a screen that shows what comes from the machine; before what it has seen there may be a recording.
    pub fn of_machine(path: Option<PathBuf>) -> Timeline {
        let mut machine = Machine::now();
        machine.look_up(Lookups::CALENDAR);
        Timeline {
            past: Past::default(),
            recorded: None,
            has_failed: false,
            path,
            has_looked: false,
            unread: None,
            is_live: true,
            is_following: false,
            looked: Instant::now(),
            here: None,
            play: None,
            speed: Speed::default(),
            search: None,
            cells: VecDeque::new(),
            is_whole: [false; 2],
            users: Names::of_users(),
            namer: Namer::default(),
            machine,
            own_boot_id: machine::boot_id(),
        }
    }

    /// Of a recording, and the interval that is shown first.
    ///
    /// # Errors
    /// When there is none.
    pub fn of_recording(mut recorded: Recorded, asked: &Asked) -> anyhow::Result<(Timeline, Arrival)> {
        let begin = recorded.begin(asked)?;
        let mut timeline = Timeline::of_machine(None);
        timeline.is_live = false;
        timeline.recorded = Some(recorded);
        let arrival = timeline.show_begin(begin)?;
        match arrival.frame {
            Some(_) => Ok((timeline, arrival)),
            None => Err(anyhow!("{}: the recording cannot be read", asked.path.display())),
        }
    }

    /// Keeps an interval that has come from the machine.
    pub fn add(&mut self, frame: &Frame) {
        self.past.add(frame);
        self.is_whole[1] = false;
    }

    /// Intervals of a recording have that length from now on; 0: as they were recorded.
    ///
    /// # Errors
    /// When reading fails.
    pub fn set_length(&mut self, length_ns: u64) -> anyhow::Result<Arrival> {
        let Some(recorded) = &mut self.recorded else { return Ok(Arrival::default()) };
        recorded.replay.set_length(length_ns);
        self.cells.clear();
        match self.find_again()? {
            Some(point) => self.show(point),
            None => Ok(Arrival::default()),
        }
    }

    /// Goes a way.
    ///
    /// # Errors
    /// When reading fails.
    pub fn go(&mut self, travel: Travel) -> anyhow::Result<Arrival> {
        self.search = None;
        self.is_following &= matches!(travel, Travel::Speed(_));
        if !matches!(travel, Travel::Play | Travel::Speed(_)) {
            self.play = None;
        }
        match travel {
            Travel::Step(count) => self.step(count),
            Travel::First => match self.first()? {
                Some(first) => {
                    let arrival = self.show(first)?;
                    let said = self.unread.clone().map(Ok).filter(|_| arrival.said.is_none());
                    Ok(Arrival { said: said.or(arrival.said), ..arrival })
                }
                None => Ok(Arrival::saying("no interval is over yet")),
            },
            Travel::Last => self.last(),
            Travel::Jump(at) => self.jump(at),
            Travel::Play => Ok(self.play_or_pause()),
            Travel::Speed(step) => {
                self.speed = self.speed.changed(step);
                if self.play.is_some() {
                    self.play_from_here();
                }
                Ok(Arrival::default())
            }
        }
    }

    /// Looks for the next interval that has a row which matches.
    pub fn find(&mut self, query: Query) -> Arrival {
        (self.is_following, self.play) = (false, None);
        let point = self.here.as_ref().map(|here| here.point);
        self.search = point.is_some().then_some(Search { query, point });
        match point {
            Some(_) => Arrival::default(),
            None => Arrival::saying("later intervals are still to come; go back first"),
        }
    }

    /// How long nothing is to be done; `None`: until there is another way to go.
    pub fn patience(&self) -> Option<Duration> {
        let here = self.here.as_ref()?;
        if self.search.is_some() || self.lacks_cells().is_some() {
            return Some(Duration::ZERO);
        }
        let Some(play) = &self.play else { return self.patience_to_follow() };
        let rest = play.rest(self.speed, here.end_ns);
        Some(if here.is_gap { SHORTEST } else { rest.max(SHORTEST) })
    }

    /// Goes on with what takes a while: playing, a search, the neighbours on the time line.
    ///
    /// # Errors
    /// When reading fails.
    pub fn go_on(&mut self, arguments: &Arguments) -> anyhow::Result<Arrival> {
        let deadline = Instant::now() + TURN;
        if self.search.is_some() {
            return self.search_on(deadline, arguments);
        }
        let mut arrival = self.play_on()?;
        if self.patience_to_follow() == Some(Duration::ZERO) {
            let came = self.follow()?;
            arrival = Arrival { frame: came.frame.or(arrival.frame), said: came.said.or(arrival.said) };
        }
        while let Some(side) = self.lacks_cells()
            && Instant::now() < deadline
        {
            self.add_cell(side)?;
        }
        Ok(arrival)
    }

    /// What the screen shows of all this; `None`: it shows what comes from the machine.
    pub fn strip(&self) -> Option<Strip> {
        let here = self.here.as_ref()?;
        let mut words = when::written(here.end_ns);
        if self.play.is_some() {
            words += &format!(" playing {}", self.speed);
        } else if self.speed != Speed::default() {
            words += &format!(" speed {}", self.speed);
        }
        if let Some(Point::Recorded(_)) = self.search.as_ref().and_then(|search| search.point) {
            words += " searching";
        }
        if let Some(notice) = &here.notice {
            words += &format!(" ({notice})");
        }
        let position = self.position().unwrap_or(0);
        Some(Strip {
            words,
            cells: self.cells.iter().map(|(_, cell)| *cell).collect(),
            position,
            is_of_other_boot: here.is_of_other_boot,
        })
    }

    fn first(&mut self) -> anyhow::Result<Option<Point>> {
        self.open_recording()?;
        if let Some(recorded) = &mut self.recorded
            && let Some(first) = recorded.replay.first()?
        {
            return Ok(Some(Point::Recorded(first)));
        }
        Ok(self.past.oldest().map(Point::Past))
    }

    fn last(&mut self) -> anyhow::Result<Arrival> {
        if self.is_live {
            return self.return_to_now();
        }
        // Each time that the end is asked for, it is said what is behind it.
        self.has_failed = false;
        let said = self.refresh()?.map(Err);
        self.is_following = true;
        let last = self.recorded.as_mut().map_or(Ok(None), |recorded| recorded.replay.last())?;
        let shown = last.map_or(Ok(Arrival::default()), |last| self.show(Point::Recorded(last)))?;
        Ok(Arrival { said: said.or(shown.said), ..shown })
    }

    /// Shows what has come last, and then what comes.
    fn return_to_now(&mut self) -> anyhow::Result<Arrival> {
        self.here = None;
        self.cells.clear();
        self.play = None;
        let Some(newest) = self.past.newest() else { return Ok(Arrival::default()) };
        let frame = self.past.frame(newest, &mut self.users)?;
        Ok(Arrival { frame: frame.map(Box::new), said: None })
    }

    fn step(&mut self, count: i64) -> anyhow::Result<Arrival> {
        let newest = || self.past.newest().map(Point::Past);
        let Some(begin) = self.here.as_ref().map(|here| here.point).or_else(newest) else {
            return Ok(Arrival::saying("no interval is over yet"));
        };
        let mut failed = None;
        if count > 0 && self.here.as_ref().is_some_and(|here| here.next.is_none()) {
            self.has_failed = false;
            failed = self.refresh()?;
        }
        let mut point = begin;
        for _ in 0..count.unsigned_abs() {
            let next = if count < 0 { self.before(point)? } else { self.behind(point)? };
            let Some(next) = next else { break };
            point = next;
        }
        let is_newest = || self.past.newest().map(Point::Past) == Some(point);
        if count > 0 && self.is_live && is_newest() {
            return self.return_to_now();
        }
        if point != begin {
            return self.show(point);
        }
        if let Some(error) = failed {
            return Ok(Arrival { frame: None, said: Some(Err(error)) });
        }
        Ok(match (count < 0, &self.unread) {
            (true, Some(unread)) => Arrival::saying(unread),
            (true, None) => Arrival::saying("this is the first interval"),
            (false, _) => Arrival::saying("this is the last interval"),
        })
    }

    fn jump(&mut self, at: Named) -> anyhow::Result<Arrival> {
        let at = self.counted_from_here(at);
        let seen_ns =
            self.past.oldest().and_then(|oldest| self.past.glance(oldest)).map(|(start, _, _)| start);
        if let (true, When::Realtime(realtime_ns)) = (self.is_live, at.when)
            && seen_ns.is_some_and(|seen_ns| realtime_ns >= seen_ns)
        {
            return match self.past.at(realtime_ns) {
                Some(number) => self.show(Point::Past(number)),
                None => self.return_to_now(),
            };
        }
        self.open_recording()?;
        let Some(recorded) = &mut self.recorded else {
            if let Some(unread) = &self.unread {
                return Ok(Arrival::saying(unread));
            }
            let since = seen_ns.map_or_else(|| "now".to_owned(), when::written);
            return Ok(Arrival::saying(format!("this screen has seen what is since {since}")));
        };
        match recorded.at(at)? {
            Ok(begin) => self.show_begin(begin),
            Err(sentence) => Ok(Arrival::saying(sentence)),
        }
    }

    /// `10m ago` counts from the interval that is shown: in a recording by the order of that, else by the calendar.
    fn counted_from_here(&mut self, at: Named) -> Named {
        let (When::BeforeEnd(ago_ns), Some(here)) = (at.when, &self.here) else { return at };
        let shown = match (here.point, &mut self.recorded) {
            (Point::Recorded(spot), Some(recorded)) => recorded.replay.begin_before_end_ns(spot),
            _ => None,
        };
        let length_ns = here.end_ns.saturating_sub(here.start_ns);
        match shown {
            Some(begin_ns) => {
                let when = When::BeforeEnd(begin_ns.saturating_sub(length_ns).saturating_add(ago_ns));
                Named { when, again_ns: None }
            }
            None => Named::realtime(here.end_ns.saturating_sub(ago_ns)),
        }
    }

    /// Shows where a way begins, and says what is to be said of that.
    fn show_begin(&mut self, begin: Begin) -> anyhow::Result<Arrival> {
        let arrival = self.show(Point::Recorded(begin.spot))?;
        Ok(Arrival { said: arrival.said.or(begin.notice.map(Ok)), ..arrival })
    }

    /// Shows the interval at a point.
    fn show(&mut self, point: Point) -> anyhow::Result<Arrival> {
        let (frame, here) = match point {
            Point::Past(number) => {
                let Some((start_ns, end_ns, cell)) = self.past.glance(number) else {
                    return Ok(Arrival::saying("it is too long ago"));
                };
                let frame = self.past.frame(number, &mut self.users)?;
                let begin = self.past.begin(number);
                let here = Here {
                    point,
                    next: self.past.behind(number).map(Point::Past),
                    start_ns,
                    end_ns,
                    begin: begin.map_or((None, 0), |(boot, ns)| (boot.map(str::to_owned), ns)),
                    notice: None,
                    is_gap: cell == Cell::Gap,
                    is_of_other_boot: false,
                };
                (frame, here)
            }
            Point::Recorded(spot) => {
                let mut interval = Interval::default();
                let Some(told) = self.read(spot, &mut interval)? else {
                    let lost = self.recorded.as_mut().and_then(|recorded| recorded.replay.lost_from(spot));
                    return Ok(match lost {
                        Some((count, times)) => Arrival::saying(lost_sentence(count, times)),
                        None => Arrival::saying("this interval is not in the recording any more"),
                    });
                };
                let here = Here {
                    point,
                    next: self.behind_recorded(told.next, told.boot_id.as_deref(), told.times_ns[1]),
                    start_ns: told.start_realtime_ns,
                    end_ns: told.end_realtime_ns,
                    begin: (told.boot_id.clone(), told.times_ns[0]),
                    notice: notice(&told),
                    is_gap: told.gap.is_some(),
                    is_of_other_boot: told.boot_id.is_none() || told.boot_id != self.own_boot_id,
                };
                (Some(self.frame_of(interval, told)), here)
            }
        };
        self.here = Some(here);
        if self.position().is_none() {
            self.cells.clear();
        }
        self.is_whole = [false; 2];
        Ok(Arrival { frame: frame.map(Box::new), said: None })
    }

    fn read(&mut self, spot: Spot, into: &mut Interval) -> anyhow::Result<Option<RecordedFacts>> {
        match &mut self.recorded {
            Some(recorded) => Ok(recorded.replay.read(spot, into)?),
            None => Ok(None),
        }
    }

    /// The frame of a recorded interval: what the machine told of itself was not recorded.
    fn frame_of(&mut self, interval: Interval, told: RecordedFacts) -> Frame {
        self.users.begin();
        learn_users(&mut self.users, &interval);
        self.namer.begin();
        if !told.cgroups.is_empty() {
            self.namer.take_recorded(&told.cgroups, &told.units);
        } else if told.boot_id.is_some() && told.boot_id == self.own_boot_id {
            let rows = interval.processes.iter().chain(&interval.tasks);
            rows.for_each(|row| self.namer.learn(&row.task));
        }
        let local = self.machine.local((told.end_realtime_ns / 1_000_000_000) as i64);
        let around = Around {
            named: self.namer.named(),
            time_of_day: local.strftime("%H:%M:%S").to_string(),
            end_realtime_ns: told.end_realtime_ns,
            uptime: told.end.unwrap_or(Boottime::from_ns(interval.end_ns)),
            boot_id: told.boot_id,
            ..Around::default()
        };
        Frame::of(interval, around, self.users.clone())
    }

    /// What comes behind a recorded interval of a boot, which ends then, CLOCK_MONOTONIC: what this screen has seen, from where it begins.
    fn behind_recorded(&self, next: Option<Spot>, boot_id: Option<&str>, end_ns: u64) -> Option<Point> {
        let oldest = self.past.oldest();
        let seen = oldest.and_then(|oldest| self.past.begin(oldest));
        let is_seen = seen.is_some_and(|(boot, begin_ns)| boot == boot_id && end_ns >= begin_ns);
        if is_seen || next.is_none() {
            return oldest.map(Point::Past);
        }
        next.map(Point::Recorded)
    }

    /// Likewise, of the interval at a spot.
    fn behind_glance(&mut self, spot: Spot) -> anyhow::Result<Option<Point>> {
        let Some(recorded) = &mut self.recorded else { return Ok(None) };
        let Some(Glance { next, times_ns, .. }) = recorded.replay.glance(spot)? else { return Ok(None) };
        let boot_id = recorded.replay.boot_id(spot);
        Ok(self.behind_recorded(next, boot_id.as_deref(), times_ns[1]))
    }

    fn behind(&mut self, point: Point) -> anyhow::Result<Option<Point>> {
        if let Some(here) = self.here.as_ref().filter(|here| here.point == point && here.next.is_some()) {
            return Ok(here.next);
        }
        match point {
            Point::Past(number) => Ok(self.past.behind(number).map(Point::Past)),
            Point::Recorded(spot) => self.behind_glance(spot),
        }
    }

    fn before(&mut self, point: Point) -> anyhow::Result<Option<Point>> {
        match point {
            Point::Past(number) => {
                if self.past.oldest().is_some_and(|oldest| oldest < number) {
                    return Ok(Some(Point::Past(number - 1)));
                }
                self.before_seen(number)
            }
            Point::Recorded(spot) => {
                let Some(recorded) = &mut self.recorded else { return Ok(None) };
                Ok(recorded.replay.previous(spot)?.map(Point::Recorded))
            }
        }
    }

    /// What is recorded before an interval that this screen has seen.
    fn before_seen(&mut self, number: u64) -> anyhow::Result<Option<Point>> {
        self.open_recording()?;
        let (Some((boot_id, begin_ns)), Some(recorded)) = (self.past.begin(number), &mut self.recorded)
        else {
            return Ok(None);
        };
        let replay = &mut recorded.replay;
        let Some(spot) = boot_id.map_or(Ok(None), |boot_id| replay.in_boot(boot_id, begin_ns))? else {
            return Ok(replay.last()?.map(Point::Recorded));
        };
        // What is being recorded may have this interval too, and what is behind it.
        let begins_before = |glance: Glance| glance.times_ns[0].saturating_add(SLACK_NS) < begin_ns;
        let spot = match replay.glance(spot)?.is_some_and(begins_before) {
            true => Some(spot),
            false => replay.previous(spot)?,
        };
        Ok(spot.map(Point::Recorded))
    }

    /// Opens the recordings that are behind what the screen has seen, if there are any, or takes what they have got since.
    fn open_recording(&mut self) -> anyhow::Result<()> {
        if !self.is_live {
            return Ok(());
        }
        if std::mem::replace(&mut self.has_looked, true) && self.looked.elapsed() < PAUSE {
            return Ok(());
        }
        self.looked = Instant::now();
        if self.recorded.is_none() {
            let behind = Behind::find(self.path.as_deref());
            (self.recorded, self.unread) = (behind.recorded, behind.unread);
            return Ok(());
        }
        self.refresh().map(drop)
    }

    /// Looks at later intervals until the deadline.
    fn search_on(&mut self, deadline: Instant, arguments: &Arguments) -> anyhow::Result<Arrival> {
        let Some(Search { query, point }) = self.search.take() else { return Ok(Arrival::default()) };
        let mut point = point;
        let mut interval = Interval::default();
        while let Some(last) = point {
            let Some(next) = self.behind(last)? else { break };
            let is_there = match next {
                Point::Past(number) => match self.past.frame(number, &mut self.users)? {
                    Some(frame) => {
                        let names = (&self.users, &frame.around.named);
                        matches(&query, &frame.interval, names, arguments)
                    }
                    None => false,
                },
                Point::Recorded(spot) => {
                    let told = self.read(spot, &mut interval)?;
                    learn_users(&mut self.users, &interval);
                    let recorded = |told: RecordedFacts| named::Named::recorded(&told.cgroups, &told.units);
                    let named = told.map(recorded).unwrap_or_default();
                    matches(&query, &interval, (&self.users, &named), arguments)
                }
            };
            if is_there {
                return self.show(next);
            }
            point = Some(next);
            if Instant::now() >= deadline {
                self.search = Some(Search { query, point });
                return Ok(Arrival::default());
            }
        }
        let unrecorded = if query.needs_arguments() { " (arguments are not recorded)" } else { "" };
        Ok(Arrival::saying(format!("no later interval has a row with {}{unrecorded}", query.text())))
    }
}
