//! Colours by meaning, so that the view names no colour. No meaning has its colour alone: what red and green would tell apart
//! is blue and orange here.

#[cfg(test)]
mod tests;

use cpuledger_program::colors::Colors;
use ratatui_core::style::{Color, Modifier, Style};

use super::backend::nearest;

/// Shares of a CPU, in thousandths, are of less weight below this one.
pub const LEAST_BRIGHT: u64 = 10;

/// Which colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThemeName {
    /// As many as the terminal says it has, for its background.
    Auto,
    /// The 16 of every terminal.
    Sixteen,
    /// Of 256.
    Indexed,
    /// Of 16 million.
    True,
    /// For a light background.
    Light,
    /// For a dark background.
    Dark,
    /// Black and white with few bright colours.
    Contrast,
    /// None.
    Mono,
}

/// A style for each meaning.
#[derive(Debug, Clone, Copy)]
pub struct Theme {
    /// What is said, and rows of other users.
    pub text: Style,
    /// Rows of the user.
    pub own: Style,
    /// Labels, zeros, kernel threads, and what is of less weight.
    pub label: Style,
    /// Headers of columns and titles: a line is below them.
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
    /// Keys in the last line, whose words are labels.
    pub key: Style,
    /// User time; self.
    pub user: Style,
    /// System time; exited threads.
    pub system: Style,
    /// Stolen and interrupts; exited children.
    pub stolen: Style,
    /// What is free, and intervals that are over.
    pub idle: Style,
    /// What is unattributed.
    pub unattributed: Style,
    /// Shares from 20 %, 50 % and 90 % on.
    pub heat: [Style; 3],
    /// User time in a graph, from its bottom to its top.
    pub graph: [Style; 3],
}

/// Colours of the meanings in the order of [`Theme::of`].
struct Palette {
    text: Color,
    own: Color,
    label: Color,
    header: Color,
    sorted: Color,
    selected: (Color, Color),
    exited: Color,
    group: Color,
    mark: Color,
    error: Color,
    parts: [Color; 5],
    heat: [Color; 3],
    graph: [Color; 3],
}

const SIXTEEN: Palette = Palette {
    text: Color::Reset,
    own: Color::White,
    label: Color::Cyan,
    header: Color::Gray,
    sorted: Color::LightCyan,
    selected: (Color::Black, Color::Cyan),
    exited: Color::Gray,
    group: Color::LightCyan,
    mark: Color::LightYellow,
    error: Color::LightRed,
    parts: [Color::LightCyan, Color::Yellow, Color::LightMagenta, Color::Gray, Color::LightYellow],
    heat: [Color::LightYellow, Color::Yellow, Color::LightRed],
    graph: [Color::Cyan, Color::Cyan, Color::LightCyan],
};

/// Where the background is light, few of the 16 can be read.
const SIXTEEN_LIGHT: Palette = Palette {
    text: Color::Reset,
    own: Color::Black,
    label: Color::Reset,
    header: Color::Blue,
    sorted: Color::Black,
    selected: (Color::White, Color::Black),
    exited: Color::Reset,
    group: Color::Blue,
    mark: Color::Blue,
    error: Color::Red,
    parts: [Color::Blue, Color::Red, Color::Magenta, Color::DarkGray, Color::Black],
    heat: [Color::Blue, Color::Red, Color::Red],
    graph: [Color::Blue, Color::Blue, Color::Blue],
};

/// Red, green and blue, eight bits of each.
const fn rgb(of: u32) -> Color {
    Color::Rgb((of >> 16) as u8, (of >> 8) as u8, of as u8)
}

const DARK: Palette = Palette {
    text: rgb(0xc3cad2),
    own: rgb(0xffffff),
    label: rgb(0x949ca6),
    header: rgb(0x949ca6),
    sorted: rgb(0x79c0ff),
    selected: (rgb(0xffffff), rgb(0x264f78)),
    exited: rgb(0x949ca6),
    group: rgb(0x79c0ff),
    mark: rgb(0xf2cc60),
    error: rgb(0xff8077),
    parts: [rgb(0x56b4e9), rgb(0xe69f00), rgb(0xd98bb5), rgb(0x6e7681), rgb(0xf0e442)],
    heat: [rgb(0xf0e442), rgb(0xffb057), rgb(0xff8077)],
    graph: [rgb(0x2e78aa), rgb(0x56b4e9), rgb(0x8cd7ff)],
};

const LIGHT: Palette = Palette {
    text: rgb(0x32383f),
    own: rgb(0x000000),
    label: rgb(0x57606a),
    header: rgb(0x57606a),
    sorted: rgb(0x032f62),
    selected: (rgb(0xffffff), rgb(0x0757ba)),
    exited: rgb(0x57606a),
    group: rgb(0x0550ae),
    mark: rgb(0x7d4e00),
    error: rgb(0xa40e26),
    parts: [rgb(0x00639c), rgb(0xb25400), rgb(0x9a3d78), rgb(0x7d868f), rgb(0x7a5d00)],
    heat: [rgb(0x7d4e00), rgb(0x9c4a00), rgb(0xa40e26)],
    graph: [rgb(0x468cbe), rgb(0x00639c), rgb(0x004678)],
};

const CONTRAST: Palette = Palette {
    text: Color::White,
    own: Color::White,
    label: Color::White,
    header: Color::White,
    sorted: Color::LightYellow,
    selected: (Color::Black, Color::LightYellow),
    exited: Color::Gray,
    group: Color::LightCyan,
    mark: Color::LightYellow,
    error: Color::LightRed,
    parts: [Color::LightCyan, Color::LightYellow, Color::LightMagenta, Color::Gray, Color::White],
    heat: [Color::LightYellow, Color::LightYellow, Color::LightRed],
    graph: [Color::LightCyan, Color::LightCyan, Color::LightCyan],
};

impl Theme {
    /// The theme of that name on a terminal with these colours; where there are none, it has none.
    pub fn new(name: ThemeName, colors: Colors) -> Theme {
        let is_light = match name {
            ThemeName::Auto => has_light_ground(),
            name => name == ThemeName::Light,
        };
        let palette = if is_light { &LIGHT } else { &DARK };
        let sixteen = if is_light { &SIXTEEN_LIGHT } else { &SIXTEEN };
        match (name, colors) {
            (_, Colors::None) | (ThemeName::Mono, _) => Theme::mono(),
            (ThemeName::Contrast, _) => Theme::of(&CONTRAST, |color| color),
            (ThemeName::True, _) => Theme::of(palette, |color| color),
            (ThemeName::Indexed, _) => Theme::of(palette, nearest),
            (ThemeName::Sixteen, _) | (_, Colors::Eight | Colors::Sixteen) => {
                Theme::of(sixteen, |color| color)
            }
            (_, Colors::Indexed) => Theme::of(palette, nearest),
            (_, Colors::True) => Theme::of(palette, |color| color),
        }
    }

    fn of(palette: &Palette, color: fn(Color) -> Color) -> Theme {
        let on = |(text, ground): (Color, Color)| Style::new().fg(color(text)).bg(color(ground));
        let text = |of: Color| Style::new().fg(color(of));
        let [user, system, stolen, idle, unattributed] = palette.parts.map(text);
        Theme {
            text: text(palette.text),
            own: text(palette.own),
            label: text(palette.label),
            header: text(palette.header).add_modifier(Modifier::UNDERLINED),
            sorted: text(palette.sorted).add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            selected: on(palette.selected),
            followed: on(palette.selected).add_modifier(Modifier::BOLD),
            exited: text(palette.exited).add_modifier(Modifier::ITALIC),
            group: text(palette.group).add_modifier(Modifier::BOLD),
            mark: text(palette.mark).add_modifier(Modifier::BOLD),
            error: text(palette.error).add_modifier(Modifier::BOLD),
            key: text(palette.group).add_modifier(Modifier::BOLD),
            user,
            system,
            stolen,
            idle,
            unattributed,
            heat: palette.heat.map(text),
            graph: palette.graph.map(text),
        }
    }

    fn mono() -> Theme {
        let plain = Style::new();
        let reversed = plain.add_modifier(Modifier::REVERSED);
        let bold = plain.add_modifier(Modifier::BOLD);
        let dim = plain.add_modifier(Modifier::DIM);
        Theme {
            text: plain,
            own: plain,
            label: plain,
            header: plain.add_modifier(Modifier::UNDERLINED),
            sorted: bold.add_modifier(Modifier::UNDERLINED),
            selected: reversed,
            followed: reversed.add_modifier(Modifier::UNDERLINED),
            exited: dim,
            group: bold,
            mark: bold,
            error: bold,
            key: bold,
            user: plain,
            system: bold,
            stolen: dim,
            idle: dim,
            unattributed: bold,
            heat: [plain, bold, bold],
            graph: [plain; 3],
        }
    }

    /// The style of a share in thousandths of one CPU; `None`: it is not warm.
    pub fn heat(&self, per_mille: u64) -> Option<Style> {
        const FROM: [u64; 3] = [200, 500, 900];
        let step = FROM.iter().rposition(|&from| per_mille >= from)?;
        Some(self.heat[step])
    }
}

/// Whether the terminal says that its background is light: some set `COLORFGBG` to the numbers of text and background.
fn has_light_ground() -> bool {
    let claim = std::env::var("COLORFGBG").unwrap_or_default();
    claim.rsplit(';').next().and_then(|ground| ground.parse::<u8>().ok()).is_some_and(is_light)
}

/// Whether one of the 16 is light.
fn is_light(number: u8) -> bool {
    number == 7 || (9..16).contains(&number)
}

/// Whether the locale has no more than ASCII.
pub fn locale_is_ascii() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"].map(|name| std::env::var(name).unwrap_or_default());
    let locale = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default().to_lowercase();
    !(locale.contains("utf-8") || locale.contains("utf8"))
}
