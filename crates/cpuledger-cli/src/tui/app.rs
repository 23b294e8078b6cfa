//! The program around the state: threads that wait, and what is done to the machine.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use cpuledger::{Comm, TaskId};
use rustix::process::{Signal, kill_current_process_group};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::config::{self, Settings};
use super::feed::{Feed, Order, Wishes};
use super::frame::{Frame, Kind};
use super::reader::{self, FileDetail, Wish};
use super::state::{Effect, State};
use super::terminal::Screen;
use super::theme::{Theme, locale_is_ascii};
use super::view::{self, Look};
use super::{act, export};
use crate::cmd::top::collect::{Collector, Stop, Waker};
use crate::cmd::top::options::{Arguments, Options};
use crate::exit::Failure;

/// What the threads tell.
pub enum Event {
    /// An interval is over.
    Frame(Box<Frame>),
    /// The feed has ended.
    Ended(anyhow::Result<()>),
    /// A key, the mouse, another size.
    Input(crossterm::event::Event),
    /// There is nobody at the keyboard any more.
    Closed,
    /// Arguments were read.
    Arguments(Vec<(TaskId, Comm, Box<[u8]>)>),
    /// The files of one task were read.
    Detail(Box<FileDetail>),
    /// A signal asks us to end.
    End,
    /// We go on after a stop.
    Continued,
}

/// How long the feed is waited for at the end. What it holds is released with the process in any case.
const LONGEST_END: Duration = Duration::from_millis(500);

/// Everything that runs.
struct App {
    state: State,
    events: Receiver<Event>,
    orders: Sender<Order>,
    waker: Waker,
    wishes: Wishes,
    reads: Sender<Wish>,
    config: Option<PathBuf>,
    frames: u64,
}

/// Shows the screen until the user has enough.
///
/// The source is opened before there is a second thread, so that all threads have what is left of the privileges after
/// that; and it is used by this thread alone, while another shows.
///
/// # Errors
/// A bad configuration file, no source, or no terminal any more.
pub fn run(options: &Options, arguments: &Arguments) -> anyhow::Result<()> {
    let (settings, mut warnings) = settings(options, arguments)?;
    let mut state = State::new(settings, options.clone());
    if !warnings.is_empty() {
        warnings.insert(0, "the configuration file is not quite right".to_owned());
        state.complain(warnings.join("; "));
    }
    let wishes = state.wishes();
    let (stop, waker) = Stop::by_hand().context("cannot make a pipe")?;
    // Who did not run is listed by the feed, which does not walk for every interval.
    let collector = Collector::open(&Options { shows_idle: false, ..options.clone() }, stop)?;
    let (told, events) = mpsc::channel();
    let (orders, ordered) = mpsc::channel();
    let (reads, wished) = mpsc::channel();
    let to_app = told.clone();
    thread::Builder::new().name("reader".into()).spawn(move || reader::run(&wished, &to_app))?;
    start_signals(told.clone())?;
    let (config, iterations) = (arguments.config.clone(), options.iterations);
    let to_app = told.clone();
    let show = move || {
        let mut screen = Screen::enter(state.settings.has_mouse).context("cannot take the terminal")?;
        start_keyboard(to_app)?;
        let mut app = App { state, events, orders, waker, wishes, reads, config, frames: 0 };
        let result = app.show(&mut screen, iterations);
        drop(screen);
        app.end(result.is_ok());
        result
    };
    let shown = thread::Builder::new().name("screen".into()).spawn(show)?;
    let feed = Feed::new(collector, wishes);
    let ended = catch_unwind(AssertUnwindSafe(|| feed.run(&ordered, &told)));
    let ended =
        ended.unwrap_or_else(|_| Err(anyhow!("taking intervals has failed by a fault of this program")));
    let _ = told.send(Event::Ended(ended));
    shown.join().unwrap_or_else(|reason| resume_unwind(reason))
}

/// The settings of the file, and those options that were given.
fn settings(options: &Options, arguments: &Arguments) -> anyhow::Result<(Settings, Vec<String>)> {
    let (mut settings, mut warnings) = config::load(arguments.config.as_deref())?;
    if arguments.delay.is_some() {
        settings.delay_ns = options.delay_ns;
    }
    if let Some(sort) = &arguments.sort {
        let name = sort.trim_start_matches(['-', '+']);
        settings.sort = config::sort_name(name).unwrap_or(settings.sort);
        settings.is_ascending = options.order.ascending;
    }
    if let Some(name) = &arguments.theme {
        let theme = config::theme_by_name(name);
        settings.theme =
            theme.map_err(|sentence| Failure::Usage(format!("--theme {sentence}, not `{name}`")))?;
    }
    settings.has_threads |= arguments.threads;
    settings.has_all = (settings.has_all || arguments.all) && !arguments.idle;
    settings.has_arguments |= arguments.command_line;
    warnings.truncate(3);
    Ok((settings, warnings))
}

fn start_signals(told: Sender<Event>) -> anyhow::Result<()> {
    let mut signals =
        Signals::new([SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCONT]).context("cannot handle signals")?;
    let run = move || {
        for signal in signals.forever() {
            let event = if signal == SIGCONT { Event::Continued } else { Event::End };
            if told.send(event).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("signals".into()).spawn(run)?;
    Ok(())
}

fn start_keyboard(told: Sender<Event>) -> anyhow::Result<()> {
    let run = move || {
        while let Ok(event) = crossterm::event::read() {
            if told.send(Event::Input(event)).is_err() {
                return;
            }
        }
        let _ = told.send(Event::Closed);
    };
    thread::Builder::new().name("keyboard".into()).spawn(run)?;
    Ok(())
}

impl App {
    fn show(&mut self, screen: &mut Screen, iterations: Option<u64>) -> anyhow::Result<()> {
        self.draw(screen)?;
        loop {
            let mut event = self.events.recv().context("every thread has ended")?;
            // What has come meanwhile is seen in one drawing.
            loop {
                if self.take(event, screen)? || iterations.is_some_and(|wanted| self.frames >= wanted) {
                    self.draw(screen)?;
                    return Ok(());
                }
                match self.events.try_recv() {
                    Ok(next) => event = next,
                    Err(_) => break,
                }
            }
            self.wish();
            self.draw(screen)?;
        }
    }

    fn draw(&mut self, screen: &mut Screen) -> anyhow::Result<()> {
        let state = &mut self.state;
        let look = Look {
            theme: Theme::new(state.settings.theme),
            is_ascii: state.settings.is_ascii.unwrap_or_else(locale_is_ascii),
        };
        let drawn = screen.draw(|buffer| {
            #[cfg(debug_assertions)]
            super::panic_on_purpose("view");
            state.layout = view::layout(state, (buffer.area.width, buffer.area.height));
            state.clamp();
            view::draw(state, &look, buffer)
        });
        drawn.context("cannot write to the terminal")
    }

    /// Takes what a thread tells; returns whether that is the end.
    fn take(&mut self, event: Event, screen: &mut Screen) -> anyhow::Result<bool> {
        match event {
            Event::Frame(frame) => {
                self.frames += 1;
                if let Some(old) = self.state.take(frame) {
                    let _ = self.orders.send(Order::Reuse(Box::new((old.interval, old.snapshot))));
                }
                self.read_detail();
            }
            Event::Ended(result) => {
                result?;
                bail!("taking intervals has ended");
            }
            Event::Input(crossterm::event::Event::Key(key)) if key.is_press() || key.is_repeat() => {
                let had = self.state.detail;
                let effect = self.state.key(&key);
                if self.state.detail != had {
                    self.read_detail();
                }
                return self.effect(effect, screen);
            }
            Event::Input(crossterm::event::Event::Mouse(mouse)) => {
                let effect = self.state.mouse(&mouse);
                return self.effect(effect, screen);
            }
            Event::Input(_) => {}
            Event::Arguments(read) => {
                for (process, comm, arguments) in read {
                    self.state.arguments.learn(process, comm, arguments);
                }
            }
            Event::Detail(files) => self.state.files = Some(files),
            Event::Continued => screen.take()?,
            Event::End | Event::Closed => return Ok(true),
        }
        Ok(false)
    }

    /// Does what the state cannot; returns whether that is the end.
    fn effect(&mut self, effect: Effect, screen: &mut Screen) -> anyhow::Result<bool> {
        let done = match effect {
            Effect::None => return Ok(false),
            Effect::Quit => return Ok(true),
            Effect::Redraw => {
                screen.forget()?;
                return Ok(false);
            }
            Effect::Suspend => {
                let waiting = suspend(screen, &self.events)?;
                for event in waiting {
                    if self.take(event, screen)? {
                        return Ok(true);
                    }
                }
                return Ok(false);
            }
            Effect::Cut => {
                self.wish();
                self.waker.wake();
                return Ok(false);
            }
            Effect::AskAffinity(victim) => {
                let cpus = act::affinity(&victim);
                self.state.fill_in(&victim, cpus);
                return Ok(false);
            }
            Effect::Signal(victim, name) => act::signal(&victim, name),
            Effect::Nice(victim, nice) => act::renice(&victim, nice),
            Effect::IoPriority(victim, priority) => act::set_io_priority(&victim, &priority),
            Effect::Affinity(victim, cpus) => act::set_affinity(&victim, &cpus),
            Effect::Export(format, path) => export::write(&self.state, format, &path),
            Effect::Save => config::save(&self.state.settings, self.config.as_deref())
                .map(|path| format!("settings written to {}", path.display())),
        };
        self.state.say(done);
        Ok(false)
    }

    /// Tells the feed and the reader what is wanted, if that is new.
    fn wish(&mut self) {
        let wishes = self.state.wishes();
        if wishes != self.wishes {
            self.wishes = wishes;
            let _ = self.orders.send(Order::Wish(wishes));
        }
        let unread = self.state.unread();
        if !unread.is_empty() {
            // Unknown until they are read; so they are not asked for twice.
            for row in &unread {
                let leader = cpuledger::Task { tid: cpuledger::Tid(row.pid.0), ..*row };
                self.state.arguments.learn(leader.id(), row.comm, row.comm.as_bytes().into());
            }
            let _ = self.reads.send(Wish::Arguments(unread));
        }
    }

    fn read_detail(&mut self) {
        let Some((kind, id)) = self.state.detail else { return };
        let Some(frame) = &self.state.frame else { return };
        if let Some(at) = frame.find(kind, id) {
            let mut row = *frame.whole(at);
            if kind == Kind::Process {
                row.tid = cpuledger::Tid(row.pid.0);
            }
            let _ = self.reads.send(Wish::Detail(Box::new(row)));
        }
    }

    /// Ends the feed. Where it has much to read first, nobody waits for it: what it holds is released with the process.
    fn end(mut self, is_good: bool) {
        let _ = self.orders.send(Order::Stop);
        self.waker.wake();
        let begin = Instant::now();
        while let Some(rest) = LONGEST_END.checked_sub(begin.elapsed()) {
            match self.events.recv_timeout(rest) {
                Ok(Event::Ended(_)) => return,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        if is_good {
            std::process::exit(0);
        }
    }
}

/// So long a stop may take to reach this thread. Where there is no shell to go back to, nobody stops.
const LONGEST_STOP: Duration = Duration::from_millis(300);

/// Gives the terminal back and stops, as the terminal itself does for others; returns when somebody lets us go on, and what
/// has come meanwhile.
fn suspend(screen: &mut Screen, events: &Receiver<Event>) -> anyhow::Result<Vec<Event>> {
    screen.leave();
    let stopped = kill_current_process_group(Signal::TSTP);
    let begin = Instant::now();
    let mut waiting = Vec::new();
    while let Some(rest) = LONGEST_STOP.checked_sub(begin.elapsed()) {
        match events.recv_timeout(rest) {
            Ok(Event::Continued) | Err(_) => break,
            Ok(Event::Frame(_)) => {}
            Ok(other) => waiting.push(other),
        }
    }
    screen.take().context("cannot take the terminal again")?;
    stopped.context("cannot stop")?;
    Ok(waiting)
}
