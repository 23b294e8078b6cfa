//! Colours by meaning, so that the view names no colour.

use cpuledger_program::colors::Colors;
use ratatui_core::style::{Color, Modifier, Style};

/// Which colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThemeName {
    /// As many as the terminal says it has.
    Auto,
    /// The 16 of every terminal.
    Sixteen,
    /// Of 256.
    Indexed,
    /// Of 16 million.
    True,
    /// Black and white with few bright colours.
    Contrast,
    /// None.
    Mono,
}

/// A style for each meaning.
#[derive(Debug, Clone, Copy)]
pub struct Theme {
    /// What is said.
    pub text: Style,
    /// Labels and what is of less weight.
    pub label: Style,
    /// Headers of columns and titles.
    pub header: Style,
    /// The column that rows are sorted by.
    pub sorted: Style,
    /// The selected row.
    pub selected: Style,
    /// The selected row while it is followed.
    pub followed: Style,
    /// What died.
    pub exited: Style,
    /// Groups and sums.
    pub group: Style,
    /// What was searched for or changed.
    pub mark: Style,
    /// What is wrong.
    pub error: Style,
    /// Keys in the last line.
    pub key: Style,
    /// User time; self.
    pub user: Style,
    /// System time; exited threads.
    pub system: Style,
    /// Stolen and interrupts; exited children.
    pub stolen: Style,
    /// What is free.
    pub idle: Style,
}

/// Colours of the meanings in the order of [`Theme::of`].
struct Palette {
    label: Color,
    header: (Color, Color),
    selected: (Color, Color),
    followed: (Color, Color),
    exited: Color,
    group: Color,
    mark: Color,
    error: Color,
    parts: [Color; 4],
}

const SIXTEEN: Palette = Palette {
    label: Color::Cyan,
    header: (Color::Black, Color::Green),
    selected: (Color::Black, Color::Cyan),
    followed: (Color::Black, Color::Yellow),
    exited: Color::DarkGray,
    group: Color::LightBlue,
    mark: Color::Yellow,
    error: Color::LightRed,
    parts: [Color::Green, Color::Red, Color::Magenta, Color::DarkGray],
};

const INDEXED: Palette = Palette {
    label: Color::Indexed(110),
    header: (Color::Indexed(16), Color::Indexed(108)),
    selected: (Color::Indexed(231), Color::Indexed(24)),
    followed: (Color::Indexed(16), Color::Indexed(179)),
    exited: Color::Indexed(244),
    group: Color::Indexed(117),
    mark: Color::Indexed(221),
    error: Color::Indexed(203),
    parts: [Color::Indexed(71), Color::Indexed(167), Color::Indexed(134), Color::Indexed(240)],
};

const TRUE: Palette = Palette {
    label: Color::Rgb(130, 170, 200),
    header: (Color::Rgb(20, 24, 30), Color::Rgb(143, 188, 143)),
    selected: (Color::Rgb(240, 244, 248), Color::Rgb(38, 79, 120)),
    followed: (Color::Rgb(20, 24, 30), Color::Rgb(224, 175, 104)),
    exited: Color::Rgb(128, 128, 128),
    group: Color::Rgb(135, 206, 250),
    mark: Color::Rgb(255, 215, 95),
    error: Color::Rgb(255, 107, 107),
    parts: [
        Color::Rgb(95, 175, 95),
        Color::Rgb(214, 90, 80),
        Color::Rgb(170, 95, 210),
        Color::Rgb(80, 84, 90),
    ],
};

const CONTRAST: Palette = Palette {
    label: Color::White,
    header: (Color::Black, Color::White),
    selected: (Color::Black, Color::LightYellow),
    followed: (Color::Black, Color::LightGreen),
    exited: Color::Gray,
    group: Color::LightCyan,
    mark: Color::LightYellow,
    error: Color::LightRed,
    parts: [Color::LightGreen, Color::LightRed, Color::LightMagenta, Color::Gray],
};

impl Theme {
    /// The theme of that name on a terminal with these colours; where there are none, it has none.
    pub fn new(name: ThemeName, colors: Colors) -> Theme {
        match (name, colors) {
            (_, Colors::None) | (ThemeName::Mono, _) => Theme::mono(),
            (ThemeName::Sixteen, _) | (ThemeName::Auto, Colors::Eight | Colors::Sixteen) => {
                Theme::of(&SIXTEEN)
            }
            (ThemeName::Indexed, _) | (ThemeName::Auto, Colors::Indexed) => Theme::of(&INDEXED),
            (ThemeName::True, _) | (ThemeName::Auto, Colors::True) => Theme::of(&TRUE),
            (ThemeName::Contrast, _) => Theme::of(&CONTRAST),
        }
    }

    fn of(palette: &Palette) -> Theme {
        let on = |(text, ground): (Color, Color)| Style::new().fg(text).bg(ground);
        let text = |color: Color| Style::new().fg(color);
        let [user, system, stolen, idle] = palette.parts.map(text);
        Theme {
            text: Style::new(),
            label: text(palette.label),
            header: on(palette.header),
            sorted: on(palette.header).add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            selected: on(palette.selected),
            followed: on(palette.followed),
            exited: text(palette.exited).add_modifier(Modifier::ITALIC),
            group: text(palette.group).add_modifier(Modifier::BOLD),
            mark: text(palette.mark).add_modifier(Modifier::BOLD),
            error: text(palette.error).add_modifier(Modifier::BOLD),
            key: on(palette.selected),
            user,
            system,
            stolen,
            idle,
        }
    }

    fn mono() -> Theme {
        let plain = Style::new();
        let reversed = plain.add_modifier(Modifier::REVERSED);
        let bold = plain.add_modifier(Modifier::BOLD);
        let dim = plain.add_modifier(Modifier::DIM);
        Theme {
            text: plain,
            label: plain,
            header: reversed,
            sorted: reversed.add_modifier(Modifier::BOLD),
            selected: reversed,
            followed: reversed.add_modifier(Modifier::UNDERLINED),
            exited: dim,
            group: bold,
            mark: bold,
            error: bold,
            key: reversed,
            user: plain,
            system: bold,
            stolen: dim,
            idle: dim,
        }
    }
}

/// Whether the locale has no more than ASCII.
pub fn locale_is_ascii() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"].map(|name| std::env::var(name).unwrap_or_default());
    let locale = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default().to_lowercase();
    !(locale.contains("utf-8") || locale.contains("utf8"))
}
