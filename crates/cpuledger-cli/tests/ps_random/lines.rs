//! Random option lines, the same ones for the same seed: what people write, and some of what they should not.

use std::collections::BTreeMap;

use crate::procps::Version;

/// A generator of numbers: xorshift64*.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// True once in `times` times.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn one<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    fn word<'a>(&mut self, words: &'a str) -> &'a str {
        let count = words.split_whitespace().count();
        words.split_whitespace().nth(self.below(count)).unwrap_or_default()
    }

    /// One to `most` different items in the order they have.
    fn some<'a>(&mut self, items: &[&'a str], most: usize) -> Vec<&'a str> {
        let mut places: Vec<usize> = (0..=self.below(most)).map(|_| self.below(items.len())).collect();
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|place| items[place]).collect()
    }
}

/// An option line, and the variables it is run with.
#[derive(Debug, Clone)]
pub struct Line {
    pub variables: Vec<&'static str>,
    pub arguments: Vec<String>,
}

/// Columns whose cells and order do not change while nothing happens.
const COLUMNS: &str = "args atime blocked bsdstart bsdtime c caught cgname cgroup cgroupns class cls cmd comm command \
    context cp cpuid cputime cputimes egid egroup etime etimes euid euser exe f fgid fgroup flag flags \
    fname fsgid fsgroup fsuid fsuser fuid fuser gid group ignored intpri ipcns label lastcpu longtname \
    lstart luid lwp m_size mntns netns ni nice nlwp opri pcpu pending pgid pgrp pid pidns pmem policy \
    ppid pri pri_api pri_bar pri_baz pri_foo priority psr rgid rgroup rss rssize rsz rtprio ruid ruser s \
    sched sess session sgi_p sgi_rss sgid sgroup sid sig sig_block sig_catch sig_ignore sig_pend \
    sigcatch sigignore sigmask size spid start start_time stat state stime suid supgid supgrp suser \
    svgid svgroup svuid svuser sz tgid thcount tid time timens times tname tpgid trs tsig tt tty tty4 \
    tty8 ucmd ucomm uid uid_hack uname user userns utsns vsize vsz wchan wname %cpu %mem addr alarm jobc \
    lim oom oomadj drs";

/// Columns that procps fills for a process as a whole, also in the line of its leader among threads.
const SUMS: &str = "min_flt maj_flt minflt majflt pagein rops wops rchars wchars rbytes wbytes wcbytes";

/// Columns that procps sorts by something else, as docs/ps.md says, and those whose order an older version makes of
/// something else.
const SORTED_OTHERWISE: &[&str] = &["fgid", "label", "context", "tty4", "vsize"];
const SORTED_NEWLY: &[&str] = &["class", "cls", "policy"];

/// The tasks that are there to be listed, by the name of a list.
pub type Names = BTreeMap<&'static str, Vec<String>>;

/// Makes lines.
pub struct Lines<'a> {
    pub dice: Dice,
    pub names: &'a Names,
    pub version: Version,
}

/// Selections without a list; a `,` is a blank.
const SIMPLE: &str = "-e -A ax -e -a -d -ad a x r -N --deselect -e,-N T -N,-p,1";

/// Selections by a list, with the name of the list.
const BY_LIST: &str = "-p:pid p:pid --pid:pid -q:pid --ppid:pid -u:user U:user -U:user --user:user -G:group --group:group \
                       -g:sid -s:sid --sid:sid -t:tty t:tty -C:comm bare:pid";

const FORMATS: &str =
    "- -f -F -l -ly -j -c -P -M -lf -lF -jf -cl -Pf u l j s -f u -fc -jlf -y -Z -fM uj -F,-y u,-j l,-c j,-P";

const OTHERS: &str = "-w w -ww ww n c h --no-headers --headers -H S e f --forest --rows=4 --noheading";

/// Something that is an error, or an option that is not expected there.
const WRONG: &str = "-o --pid -y -K --nosuch g m -m H -L -T f -p -o,nosuch --sort=nosuch --cols=0 --sort=pid -q1 - -- -V1 X v \
                     -s 0 -a x -x -ef- h -u";

const VARIABLES: [&str; 8] = [
    "COLUMNS=5",
    "COLUMNS=40",
    "COLUMNS=0",
    "LINES=3",
    "PS_PERSONALITY=bsd",
    "PS_PERSONALITY=old",
    "PS_PERSONALITY=linux",
    "PS_FORMAT=pid,args",
];

impl Lines<'_> {
    /// The next line that this version and we should treat alike.
    pub fn next(&mut self) -> Line {
        loop {
            let line = self.any();
            if !is_treated_otherwise(&line.arguments, self.version) {
                return line;
            }
        }
    }

    fn any(&mut self) -> Line {
        let mut line = Line { variables: Vec::new(), arguments: Vec::new() };
        let threads = if self.dice.once_in(5) { self.dice.one(&["-L", "-T", "H", "-m", "m"]) } else { "" };
        let mut parts = vec![self.selection()];
        let width = if self.dice.once_in(8) { Some(20 + self.dice.below(180)) } else { None };
        parts.push(self.format(threads, width.is_some()));
        if !threads.is_empty() {
            parts.push(vec![threads.to_owned()]);
        }
        if self.dice.once_in(3) {
            parts.push(self.order(threads));
        }
        if let Some(width) = width {
            parts.push(vec![format!("--cols={width}")]);
        }
        for _ in 0..self.dice.below(3) {
            parts.push(words(self.dice.word(OTHERS)));
        }
        if self.dice.once_in(12) {
            parts.push(words(self.dice.word(WRONG)));
        }
        if self.dice.once_in(2) {
            let place = self.dice.below(parts.len());
            let last = parts.len() - 1;
            parts.swap(place, last);
        }
        // Numbers of processes take all that follows.
        parts.sort_by_key(|part| {
            part.first().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        });
        line.arguments = parts.concat();
        if self.dice.once_in(20) {
            line.variables.push(self.dice.one(&VARIABLES));
        }
        line
    }

    fn selection(&mut self) -> Vec<String> {
        let mut chosen: Vec<String> = Vec::new();
        for _ in 0..=self.dice.below(2) {
            if self.dice.once_in(2) {
                chosen.extend(words(self.dice.word(SIMPLE)));
                continue;
            }
            let (option, name) = self.dice.word(BY_LIST).split_once(':').unwrap_or_default();
            let items: Vec<&str> = self.names[name].iter().map(String::as_str).collect();
            let items = self.dice.some(&items, 4);
            if option == "bare" {
                return items.into_iter().map(str::to_owned).collect();
            }
            chosen.extend([option.to_owned(), items.join(self.dice.one(&[",", ",", " "]))]);
        }
        chosen
    }

    fn columns(&mut self, threads: &str, is_narrow: bool) -> String {
        let mut columns: Vec<String> = Vec::new();
        for _ in 0..=self.dice.below(6) {
            let name = self.column(threads);
            match self.dice.below(8) {
                // procps pads `fname` by a wrong width.
                0 if name != "fname" => columns.push(format!("{name}:{}", 1 + self.dice.below(40))),
                1 if columns.len() > 3 => {
                    columns.push(format!("{name}=HEAD"));
                    break;
                }
                _ => columns.push(name.to_owned()),
            }
        }
        // The line of the listing process is known by its number.
        let place = if is_narrow { 0 } else { self.dice.below(columns.len()) };
        let numbers = if threads.is_empty() { "pid" } else { self.dice.one(&["pid,tid", "tid,pid"]) };
        columns.insert(place, numbers.to_owned());
        columns.join(",")
    }

    fn column(&mut self, threads: &str) -> &'static str {
        let has_sums = threads.is_empty() && self.dice.once_in(8);
        self.dice.word(if has_sums { SUMS } else { COLUMNS })
    }

    fn format(&mut self, threads: &str, is_narrow: bool) -> Vec<String> {
        if self.dice.below(5) > 1 {
            return words(self.dice.word(FORMATS));
        }
        let option = self.dice.word("-o -o o --format -O O");
        vec![option.to_owned(), self.columns(threads, is_narrow)]
    }

    fn order(&mut self, threads: &str) -> Vec<String> {
        let mut keys = vec![];
        for _ in 0..=self.dice.below(3) {
            let name = self.column(threads);
            let is_newer = !self.version.marks_the_dead() && SORTED_NEWLY.contains(&name);
            if !is_newer && !SORTED_OTHERWISE.contains(&name) {
                keys.push(format!("{}{name}", self.dice.one(&["", "", "+", "-", "-"])));
            }
        }
        if keys.is_empty() {
            keys.push("pid".to_owned());
        }
        vec![self.dice.one(&["--sort", "k"]).to_owned(), keys.join(",")]
    }
}

/// `-` alone is nothing where something is chosen.
fn words(text: &str) -> Vec<String> {
    if text == "-" { Vec::new() } else { text.split(',').map(str::to_owned).collect() }
}

/// Columns with a sum of the process among them.
fn is_list_with_sums(argument: &str) -> bool {
    argument.split([',', ':', '=']).any(|name| SUMS.split_whitespace().any(|sum| sum == name))
}

/// Letters after one dash, `f` among them.
fn is_letters_with_f(argument: &str) -> bool {
    argument.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains('f'))
}

/// Whether procps, or this version of it, does it otherwise, as docs/ps.md says.
fn is_treated_otherwise(arguments: &[String], version: Version) -> bool {
    let has =
        |known: &str| arguments.iter().any(|argument| known.split_whitespace().any(|word| word == argument));
    let has_simple = has("-e -A ax -a -d -ad a x r");
    let has_signals =
        has("s") || arguments.iter().any(|argument| argument.contains("sig") || argument.contains("pending"));
    let is_sorted = has("--sort k --sort=pid");
    let is_tree = has("f --forest -H");
    // A list of processes alone is all that is looked at.
    (version.marks_the_dead() && has("-p p --pid") && has_simple)
        // Threads are lost in an order; by name they are looked for without end.
        || has("-L -T m -m") && is_sorted
        || has("m -m H -L -T") && has("-C")
        // Cells of other threads.
        || version < Version(4, 0, 4) && has("m -m")
        || version.has_whole_trees() && has("g")
        || !version.has_whole_trees() && (has("-ad f --forest") || has("-a") && has("-d"))
        // Read as BSD options, of which `f` is one.
        || !version.has_whole_trees() && has("-x") && arguments.iter().any(|argument| is_letters_with_f(argument))
        // Registers that the kernel does not tell.
        || has("X")
        || !version.marks_the_dead() && is_tree && is_sorted
        // The line of the listing process is elsewhere, and so are the pages.
        || has("--headers") && is_sorted
        || has("S") && has("m -m H -L -T")
        // Those of the whole process with its leader.
        || has("m -m H -L -T") && arguments.iter().any(|argument| is_list_with_sums(argument))
        // No signals that wait for a process.
        || has("m -m") && has_signals
        // Those of the process with its leader.
        || version < Version(4, 0, 4) && has("H -L -T") && has_signals
}
