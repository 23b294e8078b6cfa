//! What a command line and its surroundings mean together: one plan, or a sentence. What is wrong as UNIX options is
//! tried once more as BSD's.

use cpuledger_view::filter::{Caller, Selection};
use cpuledger_view::layout::Chosen;
use cpuledger_view::layout::Criterion;

use super::options::{Action, ColumnList, Headers, ListKind, Options, Surrounding};
use super::parse::{Reading, parse};
#[cfg(test)]
use super::personality::Personality;
use super::{format, order, selection, specifiers};

/// Which lines a process has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Threads {
    /// One.
    #[default]
    Hidden,
    /// One a thread.
    Instead,
    /// One, and below it one a thread.
    Below,
}

/// What shall be done.
#[derive(Debug, Default)]
pub struct Plan {
    /// What the options say.
    pub options: Options,
    /// Which processes.
    pub selection: Selection,
    /// Which columns.
    pub columns: Vec<Chosen>,
    /// In which order; nothing: by pid.
    pub criteria: Vec<Criterion>,
    /// Which lines a process has.
    pub threads: Threads,
    /// The lines of headers.
    pub headers: Headers,
    /// The user and terminal of the caller.
    pub caller: Caller,
    /// What is to be said, and does not end it.
    pub warning: Option<String>,
}

/// What is wrong with a command line.
struct Wrong {
    sentence: String,
    /// No BSD option was there: letters after a dash may have been meant as such.
    may_be_bsd: bool,
}

impl Plan {
    /// What the arguments mean.
    ///
    /// # Errors
    /// A sentence that says what is wrong with them.
    pub fn of(arguments: &[&str], surrounding: &Surrounding) -> Result<Plan, String> {
        let forces_bsd = surrounding.personality.forces_bsd;
        let reading = if forces_bsd { Reading::Bsd } else { Reading::Usual };
        let plan = match Plan::read(arguments, reading, surrounding) {
            Err(Wrong { sentence, may_be_bsd: true }) if !forces_bsd => {
                Plan::read(arguments, Reading::BsdAfterAll, surrounding).map_err(|_| sentence)?
            }
            plan => plan.map_err(|wrong| wrong.sentence)?,
        };
        // What is wrong with these is not tried as BSD's.
        format::check_classes(&plan.options, &surrounding.personality)?;
        check_quick(&plan)?;
        Ok(plan)
    }

    fn read(arguments: &[&str], reading: Reading, surrounding: &Surrounding) -> Result<Plan, Wrong> {
        let (options, wrong) = parse(arguments, reading, surrounding);
        let may_be_bsd = !options.has_bsd_options;
        let mut hint = String::new();
        let made = match wrong {
            Some(sentence) => Err(sentence),
            None => {
                if let Some(word) = &options.word_with_value {
                    hint = format!(
                        " (`{word}` was read as BSD letters; to select processes by name, use `-C {word}`)"
                    );
                }
                Plan::make(options, surrounding)
            }
        };
        made.map_err(|sentence| Wrong { sentence: sentence + &hint, may_be_bsd })
    }

    fn make(options: Options, surrounding: &Surrounding) -> Result<Plan, String> {
        let Surrounding { personality, caller, format, hides_kernel } = surrounding;
        if options.action != Action::List {
            return Ok(Plan { options, caller: *caller, ..Plan::default() });
        }
        let threads = threads(&options)?;
        let (criteria, lists) = criteria_and_lists(&options)?;
        let (usual, warning) = match format.as_deref().map(specifiers::columns) {
            None => (None, None),
            Some(Ok(columns)) => (Some(columns), None),
            Some(Err(sentence)) => (None, Some(format!("$PS_FORMAT is not used: {sentence}"))),
        };
        let columns = format::columns(&options, &lists, personality, usual.as_deref())?;
        let mut selection = selection::selection(&options, personality)?;
        selection.hides_kernel = *hides_kernel;
        let headers = options.headers.unwrap_or_default();
        Ok(Plan { selection, columns, criteria, threads, headers, caller: *caller, warning, options })
    }

    /// Columns, and those of the order.
    pub fn chosen(&self) -> impl Iterator<Item = &Chosen> {
        self.columns.iter().chain(self.criteria.iter().map(|criterion| &criterion.by))
    }
}

fn threads(options: &Options) -> Result<Threads, String> {
    let Options {
        threads_lwp, threads_spid, threads_as_processes, threads_below, threads_below_unix, ..
    } = *options;
    let below = threads_below || threads_below_unix;
    let instead = threads_lwp || threads_spid || threads_as_processes;
    if (below || instead) && options.tree.is_some() {
        return Err("a tree shows processes, not threads; drop `-L`, `-T`, `-m`, `m` and `H`".to_owned());
    }
    let pairs = [
        (threads_as_processes && below, "`H` and `m`"),
        (threads_below && threads_below_unix, "`m` and `-m`"),
        (threads_lwp && threads_spid, "`-L` and `-T`"),
    ];
    match pairs.iter().find(|(both, _)| *both) {
        Some((_, names)) => Err(format!("{names} show threads differently; drop one of them")),
        None if below => Ok(Threads::Below),
        None if instead => Ok(Threads::Instead),
        None => Ok(Threads::Hidden),
    }
}

/// The order, and the lists of columns that are left: `O` may be either.
fn criteria_and_lists(options: &Options) -> Result<(Vec<Criterion>, Vec<ColumnList>), String> {
    if options.sort.len() > 1 {
        return Err("the sort order is given twice; list all keys in one option".to_owned());
    }
    let mut criteria = match options.sort.first() {
        Some(list) => order::by_names(list)?,
        None => Vec::new(),
    };
    let mut lists = Vec::new();
    for (kind, list) in &options.columns {
        let letters = match kind {
            ListKind::BetweenOrOrder if criteria.is_empty() => order::by_letters(list),
            _ => None,
        };
        match letters {
            Some(order) => criteria = order?,
            None => lists.push((*kind, list.clone())),
        }
    }
    Ok((criteria, lists))
}

/// `-q` looks at its processes only, and in its order.
fn check_quick(plan: &Plan) -> Result<(), String> {
    let options = &plan.options;
    if options.quick.is_none() {
        return Ok(());
    }
    let wrong = [
        (options.has_lists(), "other lists of processes"),
        (options.negated, "`-N`"),
        (options.tree.is_some(), "a tree"),
        (!plan.criteria.is_empty(), "an order"),
    ];
    match wrong.iter().find(|(there, _)| *there) {
        Some((_, what)) => Err(format!("`-q` cannot be combined with {what}; use `-p`")),
        None => Ok(()),
    }
}

#[cfg(test)]
impl Plan {
    /// The plan of a line whose arguments have blanks between, for a default caller.
    pub fn of_line(line: &str) -> Result<Plan, String> {
        Plan::of_line_as("", line)
    }

    /// The same in a personality.
    pub fn of_line_as(personality: &str, line: &str) -> Result<Plan, String> {
        let variable = |name: &str| (name == "PS_PERSONALITY").then(|| personality.to_owned());
        let surrounding = Surrounding {
            personality: Personality::of(&variable),
            caller: Caller { euid: 0, tty_device: 0x8801 },
            format: None,
            hides_kernel: false,
        };
        let arguments: Vec<&str> = line.split(' ').filter(|argument| !argument.is_empty()).collect();
        Plan::of(&arguments, &surrounding)
    }
}
