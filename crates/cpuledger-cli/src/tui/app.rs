//! The program around the state: threads that wait, and what is done to the machine.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use cpuledger::SourceKind;
use cpuledger::intervals::Wanted;
use cpuledger::source::service::listens;
use cpuledger_model::Dimension;
use cpuledger_model::make;
use cpuledger_program::colors::Colors;
use cpuledger_program::end::{self, Notice, Reason, Watched};
use cpuledger_program::exit::Failure;
use cpuledger_view::group::OF_SCREEN;
use rustix::process::{Signal, geteuid, getpid, kill_current_process_group, kill_process};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};

use super::config::{self, Settings, Tree};
use super::effect::Effect;
use super::event::Event;
use super::feed::{Feed, Order};
use super::first;
use super::frame::Kind;
use super::reader::{self, Requests};
use super::state::State;
use super::subscription::Subscription;
use super::terminal::{self, Screen};
use super::theme::{Theme, ThemeName, locale_is_ascii};
use super::timeline::{Arrival, Timeline};
use super::view::{self, Look};
use super::{act, export};
use crate::cmd::top::collect::{Collector, Taker, wanted};
use crate::cmd::top::options::{Arguments, Options};
use crate::cmd::top::replay::{Asked, Recorded};
use crate::exit;
use crate::privileges;
use crate::record::recorder::Recorder;
use crate::stop::Waker;

/// How long the feed is waited for at the end. What it holds is released with the process in any case.
const LONGEST_END: Duration = Duration::from_millis(200);

/// The same where it has a recording to close.
const LONGEST_END_OF_RECORDING: Duration = Duration::from_secs(10);

/// How long the source is not opened, so that the first picture is drawn before: that thread comes before all others of the machine.
const LONGEST_BEFORE_OPENING: Duration = Duration::from_millis(120);

/// Everything that runs.
struct App {
    /// Whoever waits for the first picture knows by its end that it is drawn.
    drawn: Option<Sender<()>>,
    /// Until when the thread that shows may run in real time, if the first picture is not drawn before.
    hurries_until: Option<Instant>,
    state: State,
    events: Receiver<Event>,
    orders: Sender<Order>,
    /// Ends the interval that the feed waits for; `None`: there is no feed, or it has no source yet.
    waker: Option<Waker>,
    subscription: Subscription,
    requests: Requests,
    config: Option<PathBuf>,
    longest_end: Duration,
    frames: u64,
    timeline: Timeline,
    /// The length of intervals that was chosen last.
    delay_ns: u64,
    colors: Colors,
}

/// Shows the screen until the user has enough.
///
/// The source is opened by this thread, which uses it alone. Meanwhile another shows what there is, which has given up before what the source
/// needs: opening one takes long beside many tasks that want a CPU.
///
/// # Errors
/// A bad configuration file, no source, or no terminal any more.
pub fn run(options: &Options, arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(asked) = &options.replay {
        return replay(options, arguments, asked);
    }
    let theme = theme(arguments)?;
    let comes_first = privileges::come_first();
    let taker = Taker::Screen { comes_first };
    let (told, events) = mpsc::channel();
    let (orders, ordered) = mpsc::channel();
    let (drawn, is_drawn) = mpsc::channel();
    let requests = Requests::default();
    let begin = {
        let (told, requests) = (told.clone(), requests.clone());
        move || {
            privileges::give_up(SourceKind::Service)?;
            first::start(told.clone())?;
            let state = begin(options, arguments, theme)?;
            let timeline = Timeline::of_machine(arguments.record.clone());
            watch_signals(&told, comes_first)?;
            let mut app = App::new(state, events, orders, requests, timeline, arguments);
            app.drawn = Some(drawn);
            app.hurries_until = comes_first.then(|| Instant::now() + LONGEST_BEFORE_OPENING);
            Ok((app, Arrival::default()))
        }
    };
    thread::scope(|scope| {
        // It, and the threads that it starts, call `hurry_no_more` after what does not take long.
        let start = || start(scope, told.clone(), options.iterations, begin);
        let shown = if comes_first { privileges::in_real_time(start) } else { start() }?;
        privileges::watch_names();
        // A service has an interval sooner than that.
        if !options.source.is_none_or(|source| source == SourceKind::Service) || !listens() {
            let _ = is_drawn.recv_timeout(LONGEST_BEFORE_OPENING);
        }
        let feed = || feed(options, arguments, taker, (&ordered, &told), &requests);
        let ended = catch_unwind(AssertUnwindSafe(feed));
        let ended = ended
            .unwrap_or_else(|_| Err(anyhow!("internal error: the thread that takes intervals panicked")));
        let _ = told.send(Event::Ended(ended));
        shown.join().unwrap_or_else(|reason| resume_unwind(reason))
    })
}

/// Opens the source, and takes intervals until the end.
fn feed(
    options: &Options,
    arguments: &Arguments,
    taker: Taker,
    (ordered, told): (&Receiver<Order>, &Sender<Event>),
    requests: &Requests,
) -> anyhow::Result<()> {
    #[cfg(debug_assertions)]
    super::on_purpose::wait_on_purpose();
    // The feed lists what did not run: it does not walk for every interval.
    let collector = Collector::of(options, make!(Wanted { has_all: false, ..wanted(options) }), taker)?;
    let recorder = arguments.record.as_deref().map(|path| {
        let told = told.clone();
        Recorder::of_shown(path, move |sentence| drop(told.send(Event::Notice(sentence.to_owned()))))
    });
    let recorder = recorder.transpose()?;
    // It may read what the source may.
    start_reader(requests, told)?;
    let _ = told.send(Event::Opened(collector.intervals.waker()));
    match ordered.recv() {
        Ok(Order::Subscribe(subscription)) => Feed::new(collector, subscription, recorder).run(ordered, told),
        // The screen has ended before it began.
        _ => Ok(()),
    }
}

/// Shows a recording until the user has enough.
fn replay(options: &Options, arguments: &Arguments, asked: &Asked) -> anyhow::Result<()> {
    let theme = theme(arguments)?;
    let mut recorded = Recorded::open(&asked.path, asked.span)?;
    let unread = if geteuid().is_root() { recorded.keep_open() } else { None };
    privileges::give_up(SourceKind::Service)?;
    recorded.replay.set_length(options.delay_ns);
    let (timeline, mut arrival) = Timeline::of_recording(recorded, asked)?;
    arrival.said = arrival.said.or(unread.map(Ok));
    let state = begin(options, arguments, theme)?;
    let (told, events) = mpsc::channel();
    let requests = Requests::default();
    start_reader(&requests, &told)?;
    watch_signals(&told, false)?;
    // There is no feed that would take orders.
    let app = App::new(state, events, mpsc::channel().0, requests, timeline, arguments);
    thread::scope(|scope| {
        let shown = start(scope, told, options.iterations, || Ok((app, arrival)))?;
        shown.join().unwrap_or_else(|reason| resume_unwind(reason))
    })
}

/// Starts the thread that shows; it begins by that.
fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    told: Sender<Event>,
    iterations: Option<u64>,
    begin: impl FnOnce() -> anyhow::Result<(App, Arrival)> + Send + 'scope,
) -> std::io::Result<ScopedJoinHandle<'scope, anyhow::Result<()>>> {
    let show = move || {
        let (mut app, arrival) = begin()?;
        app.arrive(Ok(arrival));
        app.colors = Colors::of_terminal();
        let mut screen =
            Screen::enter(app.state.settings.has_mouse, app.colors).context("cannot take the terminal")?;
        start_keyboard(told, app.hurries_until.is_some())?;
        let result = app.show(&mut screen, iterations);
        drop(screen);
        // A terminal that is gone is an end like others, without a place to report it.
        app.end(if end::has_hung_up() { Err(Failure::Quiet.into()) } else { result })
    };
    thread::Builder::new().name("screen".into()).spawn_scoped(scope, show)
}

/// The state before the first interval. The file of settings is read without privileges, as it is the user's: a link in its place leads
/// nowhere where the user may not go.
fn begin(options: &Options, arguments: &Arguments, theme: Option<ThemeName>) -> anyhow::Result<State> {
    let (settings, mut warnings) = settings(options, arguments, theme)?;
    let mut state = State::new(settings, options.clone());
    if !warnings.is_empty() {
        warnings.insert(0, "the configuration file has errors".to_owned());
        state.complain(warnings.join("; "));
    }
    Ok(state)
}

/// Starts the thread that reads files of single tasks.
fn start_reader(requests: &Requests, told: &Sender<Event>) -> anyhow::Result<()> {
    let (wanted, to_app) = (requests.clone(), told.clone());
    thread::Builder::new().name("reader".into()).spawn(move || reader::run(&wanted, &to_app))?;
    Ok(())
}

/// Starts the thread that waits for signals; `hurries`: in real time until it waits.
fn watch_signals(told: &Sender<Event>, hurries: bool) -> anyhow::Result<()> {
    let signals = [SIGTERM, SIGINT, SIGQUIT].map(|signal| (signal, Notice::End(Reason::Signal)));
    let others = [
        (SIGHUP, Notice::End(Reason::HangUp)),
        (SIGTSTP, Notice::Stop),
        (SIGCONT, Notice::Continued),
        (SIGWINCH, Notice::Resized),
    ];
    let whole = Whole { told: told.clone(), reason: Reason::Signal, hurries };
    end::watch(&[&signals[..], &others].concat(), true, whole).context("cannot handle signals")
}

/// Checks the options of the screen where there is none: a wrong one is wrong everywhere. Like [`run`] it reads the file of
/// settings without privileges, once the source is open.
///
/// # Errors
/// An unknown theme, or a file that cannot be read.
pub fn check(arguments: &Arguments) -> anyhow::Result<()> {
    theme(arguments)?;
    arguments.config.as_deref().map_or(Ok(()), |file| config::load(Some(file)).map(drop))
}

/// The theme that was asked for.
fn theme(arguments: &Arguments) -> Result<Option<ThemeName>, Failure> {
    let Some(name) = &arguments.theme else { return Ok(None) };
    let theme = config::theme_by_name(name);
    theme.map(Some).map_err(|sentence| Failure::Usage(format!("--theme {sentence}, not `{name}`")))
}

/// The settings of the file, and those options that were given.
fn settings(
    options: &Options,
    arguments: &Arguments,
    theme: Option<ThemeName>,
) -> anyhow::Result<(Settings, Vec<String>)> {
    let (mut settings, mut warnings) = config::load(arguments.config.as_deref())?;
    if arguments.delay.is_some() {
        settings.delay_ns = options.delay_ns;
    }
    if arguments.by.is_some() {
        settings.has_states = options.by.has_states;
        settings.has_parts = options.by.has_parts;
        // Rows of processes are the usual ones, and those by ancestor are a tree.
        settings.group = options.by.group.filter(|group| OF_SCREEN.contains(group));
        let is_tree = options.by.group == Some(Dimension::Ancestor);
        settings.tree = if is_tree { Tree::Accounting } else { Tree::No };
    }
    if let Some(sort) = &arguments.sort {
        let name = sort.trim_start_matches(['-', '+']);
        let ascending = options.order.ascending;
        if let Some(name) = config::sort_name(name) {
            (settings.sort, settings.is_ascending) = (name, ascending);
        }
        if let Some(name) = settings.sort_name(name).filter(|_| settings.has_states) {
            (settings.states_sort, settings.is_states_ascending) = (name, ascending);
        }
    }
    settings.theme = theme.unwrap_or(settings.theme);
    settings.has_threads |= arguments.threads;
    settings.has_all = (settings.has_all || arguments.all) && !arguments.idle;
    if arguments.command_line {
        settings.arguments = Some(true);
    }
    warnings.truncate(3);
    Ok((settings, warnings))
}

/// All of the screen, for the thread that watches for its end.
struct Whole {
    told: Sender<Event>,
    reason: Reason,
    hurries: bool,
}

impl Watched for Whole {
    fn begin(&mut self) {
        privileges::hurry_no_more(self.hurries);
    }

    fn tell(&mut self, notice: Notice) {
        if let Notice::End(reason) = notice {
            self.reason = reason;
        }
        let _ = self.told.send(Event::Signal(notice));
    }

    fn unblock(&mut self) {
        terminal::unblock();
    }

    fn last_words(self) -> Option<u8> {
        // Where it has been given back, the end lacks only what the process holds.
        terminal::restore().then(|| exit::report(end_for(self.reason)))
    }
}

fn start_keyboard(told: Sender<Event>, hurries: bool) -> anyhow::Result<()> {
    let run = move || {
        privileges::hurry_no_more(hurries);
        terminal::read_input(|event| told.send(Event::Input(event)).is_ok());
        let _ = told.send(Event::Closed);
    };
    thread::Builder::new().name("keyboard".into()).spawn(run)?;
    Ok(())
}

/// What the program ends with.
fn end_for(reason: Reason) -> anyhow::Result<()> {
    match reason {
        Reason::Signal => Ok(()),
        Reason::HangUp => Err(Failure::Quiet.into()),
    }
}

impl App {
    /// Before the first frame.
    fn new(
        state: State,
        events: Receiver<Event>,
        orders: Sender<Order>,
        requests: Requests,
        timeline: Timeline,
        arguments: &Arguments,
    ) -> App {
        let subscription = state.subscription();
        let _ = orders.send(Order::Subscribe(subscription));
        let is_recorded = arguments.record.is_some();
        App {
            drawn: None,
            hurries_until: None,
            subscription,
            delay_ns: state.settings.delay_ns,
            state,
            events,
            orders,
            waker: None,
            requests,
            config: arguments.config.clone(),
            longest_end: if is_recorded { LONGEST_END_OF_RECORDING } else { LONGEST_END },
            frames: 0,
            timeline,
            colors: Colors::None,
        }
    }

    /// Shows what a way through time leads to.
    fn arrive(&mut self, arrival: anyhow::Result<Arrival>) {
        let arrival = arrival.unwrap_or_else(|error| Arrival { frame: None, said: Some(Err(error)) });
        self.state.strip = self.timeline.strip();
        if let Some(frame) = arrival.frame {
            self.state.show(frame);
        }
        if let Some(said) = arrival.said {
            self.state.say(said);
        }
    }

    fn show(&mut self, screen: &mut Screen, iterations: Option<u64>) -> anyhow::Result<()> {
        let mut next = self.events.try_recv().ok();
        loop {
            // What has come meanwhile is seen in one drawing.
            while let Some(event) = next {
                if self.take(event, screen)? {
                    return Ok(());
                }
                if iterations.is_some_and(|wanted| self.frames >= wanted) {
                    return self.draw(screen);
                }
                next = self.events.try_recv().ok();
            }
            if self.state.settle() {
                self.state.search_on();
            }
            self.subscribe();
            self.draw(screen)?;
            if self.state.frame.is_some() {
                self.drawn = None;
            }
            let is_drawn = self.drawn.is_none();
            if self.hurries_until.take_if(|until| is_drawn || Instant::now() >= *until).is_some() {
                privileges::hurry_no_more(true);
            }
            next = self.next_event(screen)?;
            if next.is_none() {
                let arrival = self.timeline.go_on(&self.state.arguments);
                self.arrive(arrival);
            }
        }
    }

    /// Waits for what the threads tell; `None`: the way through time goes on first. While another program has the terminal, it is looked whether we are in front again: of that no
    /// signal tells.
    fn next_event(&self, screen: &mut Screen) -> anyhow::Result<Option<Event>> {
        while screen.is_away() {
            match self.events.recv_timeout(LOOK_FOR_TERMINAL) {
                Err(RecvTimeoutError::Timeout) if terminal::is_in_background() => {}
                Err(RecvTimeoutError::Timeout) => return Ok(Some(Event::Signal(Notice::Continued))),
                event => return event.map(Some).context("every thread has ended"),
            }
        }
        let Some(patience) = self.timeline.patience() else {
            return self.events.recv().map(Some).context("every thread has ended");
        };
        match self.events.recv_timeout(patience) {
            Err(RecvTimeoutError::Timeout) => Ok(None),
            event => event.map(Some).context("every thread has ended"),
        }
    }

    fn draw(&mut self, screen: &mut Screen) -> anyhow::Result<()> {
        if screen.is_away() {
            return Ok(());
        }
        let state = &mut self.state;
        let look = Look {
            theme: Theme::new(state.settings.theme, self.colors),
            is_ascii: state.settings.is_ascii.unwrap_or_else(locale_is_ascii),
        };
        let drawn = screen.draw(|buffer| {
            #[cfg(debug_assertions)]
            super::on_purpose::panic_on_purpose("view");
            state.layout = view::layout(state, (buffer.area.width, buffer.area.height));
            state.clamp();
            view::draw(state, &look, buffer)
        });
        drawn.context("cannot write to the terminal")
    }

    /// Takes what a thread tells; returns whether that is the end.
    fn take(&mut self, event: Event, screen: &mut Screen) -> anyhow::Result<bool> {
        match event {
            Event::Frame(frame) if frame.interval.is_since_boot() && self.frames > 0 => {}
            Event::Frame(mut frame) => {
                // The first picture is of no interval.
                self.frames += u64::from(!frame.interval.is_since_boot());
                self.timeline.add(&frame);
                // Nobody needs it any more, and a picture may stay for long.
                frame.interval.frame = None;
                if let Some(old) = self.state.take(frame) {
                    let _ = self.orders.send(Order::Reuse(Box::new(old.interval)));
                }
                self.read_detail();
            }
            Event::Notice(notice) => self.state.say(Ok(notice)),
            Event::Opened(waker) => self.waker = Some(waker),
            Event::Ended(result) => {
                // It is not waited for at the end.
                self.waker = None;
                result?;
                bail!("no further interval can be taken");
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
            Event::Arguments { process, comm, read, arguments } => {
                self.state.learn(process, comm, read, arguments);
            }
            Event::Detail(id, lines) => self.state.files = Some((id, lines)),
            Event::Signal(Notice::Resized) => {}
            Event::Signal(Notice::Stop) => {
                for event in stop(screen, &self.events)? {
                    if self.take(event, screen)? {
                        return Ok(true);
                    }
                }
            }
            Event::Signal(Notice::Continued) => screen.take()?,
            Event::Signal(Notice::End(reason)) => return end_for(reason).map(|()| true),
            Event::Closed => return end_for(Reason::HangUp).map(|()| true),
        }
        Ok(false)
    }

    /// Does what the state cannot; returns whether that is the end.
    fn effect(&mut self, effect: Effect, screen: &mut Screen) -> anyhow::Result<bool> {
        let done = match effect {
            Effect::Quit => return Ok(true),
            Effect::Signal(victim, number) => act::signal(&victim, number),
            Effect::Nice(victim, nice) => act::renice(&victim, nice),
            Effect::IoPriority(victim, priority) => act::set_io_priority(&victim, &priority),
            Effect::Affinity(victim, cpus) => act::set_affinity(&victim, &cpus),
            Effect::Export(format, path) => export::write(&self.state, format, &path),
            Effect::Save => config::save(&self.state.settings, self.config.as_deref())
                .map(|path| format!("settings written to {}", path.display())),
            other => return self.quiet_effect(other, screen).map(|()| false),
        };
        self.state.say(done);
        Ok(false)
    }

    /// Does what needs no word.
    fn quiet_effect(&mut self, effect: Effect, screen: &mut Screen) -> anyhow::Result<()> {
        match effect {
            Effect::Redraw => screen.forget()?,
            // To the whole group, as the terminal itself does: the process that started us hears of it too. `stop` does our part.
            Effect::Suspend => kill_current_process_group(Signal::TSTP).context("cannot stop")?,
            Effect::Travel(travel) => {
                let arrival = self.timeline.go(travel);
                self.arrive(arrival);
            }
            Effect::Find(query) => {
                let arrival = self.timeline.find(query);
                self.arrive(Ok(arrival));
            }
            Effect::Cut => {
                let delay_ns = self.state.settings.delay_ns;
                if self.state.strip.is_some() && std::mem::replace(&mut self.delay_ns, delay_ns) != delay_ns {
                    let arrival = self.timeline.set_length(delay_ns);
                    self.arrive(arrival);
                }
                // What comes from the machine meanwhile is of that length, too.
                self.subscribe();
                let waker = self.waker.as_ref().filter(|_| self.state.strip.is_none());
                waker.into_iter().for_each(Waker::wake);
            }
            Effect::AskAffinity(victim) => match act::affinity(&victim) {
                Ok(cpus) => self.state.fill_in(&victim, cpus),
                Err(error) => self.state.refuse(error),
            },
            _ => {}
        }
        Ok(())
    }

    /// Tells the feed and the reader what is wanted, if that is new.
    fn subscribe(&mut self) {
        let subscription = self.state.subscription();
        if subscription != self.subscription {
            self.subscription = subscription;
            let _ = self.orders.send(Order::Subscribe(subscription));
        }
        self.requests.want_arguments(self.state.unread());
    }

    fn read_detail(&mut self) {
        let Some((kind, id)) = self.state.detail else { return };
        if self.state.strip.is_some() {
            return;
        }
        let Some(frame) = &self.state.frame else { return };
        if let Some(at) = frame.find(kind, id) {
            let mut row = *frame.whole(at);
            if kind == Kind::Process {
                row.tid = cpuledger::Tid(row.pid.0);
            }
            self.requests.want_detail(row);
        }
    }

    /// Ends the feed. It is not waited for, as it may have much to read first: what it holds is released with the process.
    fn end(self, result: anyhow::Result<()>) -> anyhow::Result<()> {
        self.requests.end();
        let _ = self.orders.send(Order::Stop);
        let Some(waker) = &self.waker else { std::process::exit(exit::report(result).into()) };
        waker.wake();
        let begin = Instant::now();
        while let Some(rest) = self.longest_end.checked_sub(begin.elapsed()) {
            match self.events.recv_timeout(rest) {
                Ok(Event::Ended(_)) => return result,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        std::process::exit(exit::report(result).into())
    }
}

/// How often it is looked whether a program that went on in the background is in front again.
const LOOK_FOR_TERMINAL: Duration = Duration::from_millis(200);

/// How long to wait for a stop to reach this thread. Without a shell to return to, it never comes.
const LONGEST_STOP: Duration = Duration::from_millis(300);

/// Restores the terminal and stops. Returns when the process is continued, with what has come meanwhile.
fn stop(screen: &mut Screen, events: &Receiver<Event>) -> anyhow::Result<Vec<Event>> {
    screen.leave();
    // SIGTSTP is handled. This one stops as well, and not either where there is no shell, which SIGSTOP would.
    let stopped = kill_process(getpid(), Signal::TTOU);
    let begin = Instant::now();
    let mut waiting = Vec::new();
    while let Some(rest) = LONGEST_STOP.checked_sub(begin.elapsed()) {
        match events.recv_timeout(rest) {
            Ok(Event::Signal(Notice::Continued)) | Err(_) => break,
            Ok(Event::Frame(_) | Event::Signal(Notice::Stop)) => {}
            Ok(end @ Event::Signal(Notice::End(_))) => return Ok(vec![end]),
            Ok(other) => waiting.push(other),
        }
    }
    screen.take().context("cannot take the terminal again")?;
    stopped.context("cannot stop")?;
    Ok(waiting)
}
