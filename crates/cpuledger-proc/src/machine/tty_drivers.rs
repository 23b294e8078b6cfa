//! `/proc/tty/drivers`: which device numbers are terminals of which name.

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub struct Driver {
    /// What the names of its terminals begin with.
    pub path: String,
    /// Major number.
    pub major: u32,
    /// Lowest minor number.
    pub first_minor: u32,
    /// Highest minor number.
    pub last_minor: u32,
}

impl Driver {
    /// Whether it drives this device.
    pub fn has(&self, major: u32, minor: u32) -> bool {
        self.major == major && (self.first_minor..=self.last_minor).contains(&minor)
    }

    /// Where the terminal of that minor number may be.
    pub fn candidates(&self, minor: u32) -> [String; 4] {
        let path = &self.path;
        let index = minor - self.first_minor;
        [format!("{path}{minor}"), format!("{path}{index}"), format!("{path}/{minor}"), path.clone()]
    }
}

/// Reads the lines that are understood.
pub fn parse_drivers(text: &str) -> Vec<Driver> {
    let parse_line = |line: &str| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (path, major, minors) = (words.next()?, words.next()?, words.next()?);
        let (first, last) = minors.split_once('-').unwrap_or((minors, minors));
        Some(Driver {
            path: path.to_owned(),
            major: major.parse().ok()?,
            first_minor: first.parse().ok()?,
            last_minor: last.parse().ok()?,
        })
    };
    text.lines().filter_map(parse_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_are_parsed() {
        let text = "/dev/tty             /dev/tty        5       0 system:/dev/tty\n\
                    pty_slave            /dev/pts      136 0-1048575 pty:slave\n";
        let driver = |path: &str, major, first_minor, last_minor| Driver {
            path: path.to_owned(),
            major,
            first_minor,
            last_minor,
        };
        let drivers = parse_drivers(text);
        assert_eq!(drivers, [driver("/dev/tty", 5, 0, 0), driver("/dev/pts", 136, 0, 1_048_575)]);
        assert!(drivers[1].has(136, 7) && !drivers[0].has(136, 7));
        assert!(drivers[1].candidates(7).contains(&"/dev/pts/7".to_owned()));
    }
}
