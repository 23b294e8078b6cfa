//! Whose `ps` is imitated: the habits that `$PS_PERSONALITY` and `$CMD_ENV` choose, as procps documents them.

/// What the BSD letter `m` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LetterM {
    /// Threads below their process.
    #[default]
    Threads,
    /// Order by memory, large first.
    OrderByMemory,
    /// A format of memory.
    MemoryFormat,
}

/// What the UNIX letter `x` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LetterX {
    /// Nothing: it is wrong, and `-ax` is read as `ax`.
    #[default]
    Wrong,
    /// The same as `-y`.
    NoFlags,
    /// Arguments instead of the name.
    Arguments,
}

/// Formats of the options, by the name of a macro of [`super::macros`]; `None`: composed column by column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Formats {
    /// BSD `j`.
    pub bsd_jobs: &'static str,
    /// BSD `l`.
    pub bsd_long: &'static str,
    /// BSD `s`.
    pub bsd_signals: &'static str,
    /// BSD `u`.
    pub bsd_user: &'static str,
    /// BSD `v`.
    pub bsd_memory: &'static str,
    /// UNIX `-f`.
    pub full: Option<&'static str>,
    /// UNIX `-fl`.
    pub full_long: Option<&'static str>,
    /// UNIX `-j`.
    pub jobs: Option<&'static str>,
    /// UNIX `-l`.
    pub long: Option<&'static str>,
}

const LINUX: Formats = Formats {
    bsd_jobs: "OL_j",
    bsd_long: "OL_l",
    bsd_signals: "OL_s",
    bsd_user: "OL_u",
    bsd_memory: "OL_v",
    full: None,
    full_long: None,
    jobs: None,
    long: None,
};

impl Default for Formats {
    fn default() -> Formats {
        LINUX
    }
}

const FREEBSD: Formats =
    Formats { bsd_jobs: "FB_j", bsd_long: "FB_l", bsd_user: "FB_u", bsd_memory: "FB_v", ..LINUX };

const DIGITAL: Formats = Formats {
    bsd_jobs: "JFMT",
    bsd_long: "LFMT",
    bsd_signals: "SFMT",
    bsd_user: "UFMT",
    bsd_memory: "VFMT",
    full: Some("F5FMT"),
    full_long: Some("FL5FMT"),
    jobs: Some("JFMT"),
    long: Some("L5FMT"),
};

const DEBIAN: Formats = Formats { full: Some("RD_f"), jobs: Some("RD_j"), long: Some("RD_l"), ..LINUX };

/// The habits of one system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Personality {
    /// Letters after a dash are BSD's too.
    pub forces_bsd: bool,
    /// Without BSD options, selection and columns are BSD's.
    pub prefers_bsd: bool,
    /// `h` repeats the headers instead of leaving them away.
    pub h_repeats: bool,
    /// What `m` means.
    pub letter_m: LetterM,
    /// What `-x` means.
    pub letter_x: LetterX,
    /// `-l` shows size and resident size together, and another priority.
    pub irix_long: bool,
    /// `-l` shows the CPU instead of an address.
    pub cpu_for_address: bool,
    /// `-f` calls the user by that name.
    pub calls_user_user: bool,
    /// Session leaders are left out unless `g` is there.
    pub needs_g: bool,
    /// Formats of the options.
    pub formats: Formats,
}

impl Personality {
    /// The same where letters after a dash are read as BSD's: then `m` is the format of memory, unless it is an order.
    pub fn read_as_bsd(self) -> Personality {
        let letter_m = match self.letter_m {
            LetterM::Threads => LetterM::MemoryFormat,
            other => other,
        };
        Personality { letter_m, ..self }
    }

    /// That of the environment, of which `variable` tells.
    pub fn of(variable: &dyn Fn(&str) -> Option<String>) -> Personality {
        if variable("I_WANT_A_BROKEN_PS").is_some() {
            return named("old");
        }
        let stated = |name| variable(name).filter(|value| !value.is_empty());
        let name = stated("PS_PERSONALITY").or_else(|| stated("CMD_ENV")).unwrap_or_default();
        let personality = named(&name.to_ascii_lowercase());
        let irix_long = personality.irix_long && variable("_XPG").is_none();
        Personality { irix_long, ..personality }
    }
}

fn named(name: &str) -> Personality {
    let usual = Personality::default();
    let bsd = Personality { prefers_bsd: true, formats: FREEBSD, ..usual };
    match name {
        "linux" => Personality { cpu_for_address: true, calls_user_user: true, ..usual },
        "bsd" => Personality { forces_bsd: true, h_repeats: true, letter_m: LetterM::OrderByMemory, ..bsd },
        "sunos4" => Personality { needs_g: true, ..bsd },
        "old" => {
            Personality { forces_bsd: true, prefers_bsd: true, letter_m: LetterM::MemoryFormat, ..usual }
        }
        "debian" | "gnu" => {
            Personality { prefers_bsd: true, letter_m: LetterM::MemoryFormat, formats: DEBIAN, ..usual }
        }
        "digital" | "compaq" | "tru64" => {
            Personality { prefers_bsd: true, h_repeats: true, formats: DIGITAL, ..usual }
        }
        "aix" => Personality { formats: FREEBSD, ..usual },
        "390" | "os390" | "s390" => Personality { formats: Formats { jobs: Some("J390"), ..LINUX }, ..usual },
        "hp" | "hpux" => Personality { letter_x: LetterX::Arguments, ..usual },
        "irix" | "sgi" => Personality { irix_long: true, ..usual },
        "sco" | "svr4" | "sysv" => Personality { letter_x: LetterX::NoFlags, ..usual },
        _ => usual,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Personality {
        Personality::of(&|name| {
            let (_, value) = variables.iter().find(|(variable, _)| *variable == name)?;
            Some((*value).to_owned())
        })
    }

    #[test]
    fn the_environment_names_one() {
        assert_eq!(of(&[]), Personality::default());
        assert_eq!(of(&[("PS_PERSONALITY", "unknown")]), Personality::default());
        assert!(of(&[("PS_PERSONALITY", "BSD")]).forces_bsd);
        assert!(of(&[("PS_PERSONALITY", ""), ("CMD_ENV", "bsd")]).forces_bsd);
        assert!(!of(&[("PS_PERSONALITY", "posix"), ("CMD_ENV", "bsd")]).forces_bsd);
        assert!(of(&[("CMD_ENV", "irix")]).irix_long);
        assert!(!of(&[("CMD_ENV", "irix"), ("_XPG", "1")]).irix_long);
        let broken = of(&[("I_WANT_A_BROKEN_PS", ""), ("PS_PERSONALITY", "posix")]);
        assert_eq!(broken.letter_m, LetterM::MemoryFormat);
    }
}
