//! `/proc/loadavg`: `0.54 80.53 265.92 1/89 2188521`.

/// What the line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loadavg<'a> {
    /// Over 1, 5 and 15 minutes, as the kernel writes them.
    pub averages: [&'a str; 3],
    /// Of them those that are on a CPU or wait for one.
    pub runnable: Option<u32>,
    /// Tasks of the machine about now.
    pub tasks: Option<u32>,
    /// The tid that was given last.
    pub last_tid: Option<u32>,
}

/// What people look at of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// Over 1, 5 and 15 minutes, as the kernel writes them.
    pub averages: [String; 3],
    /// Tasks of the machine about now.
    pub tasks: Option<u32>,
}

impl From<Loadavg<'_>> for Load {
    fn from(line: Loadavg<'_>) -> Load {
        Load { averages: line.averages.map(str::to_owned), tasks: line.tasks }
    }
}

/// Reads the line; `None` where it is not one.
pub fn parse_loadavg(line: &str) -> Option<Loadavg<'_>> {
    let mut words = line.split_ascii_whitespace();
    let averages = [words.next()?, words.next()?, words.next()?];
    let counts = words.next().and_then(|counts| counts.split_once('/'));
    let runnable = counts.and_then(|(runnable, _)| runnable.parse().ok());
    let tasks = counts.and_then(|(_, tasks)| tasks.parse().ok());
    let last_tid = words.next().and_then(|tid| tid.parse().ok());
    Some(Loadavg { averages, runnable, tasks, last_tid })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_and_tasks_are_read() {
        let expected = Loadavg {
            averages: ["0.00", "0.01", "0.05"],
            runnable: Some(1),
            tasks: Some(4321),
            last_tid: Some(99),
        };
        assert_eq!(parse_loadavg("0.00 0.01 0.05 1/4321 99\n"), Some(expected));
        let part = Loadavg { runnable: None, tasks: None, last_tid: None, ..expected };
        assert_eq!(parse_loadavg("0.00 0.01 0.05"), Some(part));
        assert_eq!(parse_loadavg(""), None);
    }
}
