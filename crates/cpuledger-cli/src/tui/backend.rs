//! What ratatui draws with: the sequences of crossterm, but for colours. crossterm writes those of 256 to every terminal.

use std::io::{self, Write};

use cpuledger_program::colors::Colors;
use crossterm::cursor::{self, Hide, MoveTo, Show};
use crossterm::terminal::{self, Clear};
use crossterm::{execute, queue};
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};

/// The sequences that set a colour are numbered from here on: of the text, and of what is behind it.
const TEXT: u8 = 30;
const GROUND: u8 = 40;

/// From these to their bright ones.
const BRIGHT: u8 = 60;

/// A terminal with this number of colours.
#[derive(Debug)]
pub struct ColoredBackend<W: Write> {
    writer: W,
    colors: Colors,
}

impl<W: Write> ColoredBackend<W> {
    /// One that writes to `writer`.
    pub fn new(writer: W, colors: Colors) -> ColoredBackend<W> {
        ColoredBackend { writer, colors }
    }
}

impl<W: Write> Backend for ColoredBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut bytes = Vec::new();
        let (mut next, mut style) = (None, None);
        for (column, row, cell) in content {
            if next != Some((column, row)) {
                queue!(bytes, MoveTo(column, row))?;
            }
            next = Some((column + 1, row));
            let of_cell = (cell.fg, cell.bg, cell.modifier);
            if style.replace(of_cell) != Some(of_cell) {
                append_style(self.colors, &mut bytes, cell.fg, cell.bg, cell.modifier);
            }
            bytes.extend_from_slice(cell.symbol().as_bytes());
        }
        bytes.extend_from_slice(b"\x1b[0m");
        self.writer.write_all(&bytes)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        execute!(self.writer, Hide)
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        execute!(self.writer, Show)
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        let (column, row) = cursor::position()?;
        Ok(Position::new(column, row))
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        execute!(self.writer, MoveTo(x, y))
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        execute!(
            self.writer,
            Clear(match clear_type {
                ClearType::All => terminal::ClearType::All,
                ClearType::AfterCursor => terminal::ClearType::FromCursorDown,
                ClearType::BeforeCursor => terminal::ClearType::FromCursorUp,
                ClearType::CurrentLine => terminal::ClearType::CurrentLine,
                ClearType::UntilNewLine => terminal::ClearType::UntilNewLine,
            })
        )
    }

    fn size(&self) -> io::Result<Size> {
        let (columns, rows) = terminal::size()?;
        Ok(Size::new(columns, rows))
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        let terminal::WindowSize { columns, rows, width, height } = terminal::window_size()?;
        Ok(WindowSize { columns_rows: Size::new(columns, rows), pixels: Size::new(width, height) })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Appends the sequence that sets this style, whatever was set before.
fn append_style(colors: Colors, bytes: &mut Vec<u8>, text: Color, ground: Color, modifier: Modifier) {
    const MODIFIERS: [(Modifier, &[u8]); 5] = [
        (Modifier::BOLD, b";1"),
        (Modifier::DIM, b";2"),
        (Modifier::ITALIC, b";3"),
        (Modifier::UNDERLINED, b";4"),
        (Modifier::REVERSED, b";7"),
    ];
    bytes.extend_from_slice(b"\x1b[0");
    for (of, sequence) in MODIFIERS {
        if modifier.contains(of) {
            bytes.extend_from_slice(sequence);
        }
    }
    append_color(colors, bytes, text, TEXT);
    append_color(colors, bytes, ground, GROUND);
    bytes.push(b'm');
}

fn append_color(colors: Colors, bytes: &mut Vec<u8>, color: Color, from: u8) {
    let color = if colors == Colors::Eight { reduced(color) } else { color };
    let written = match (color, number(color)) {
        (Color::Rgb(red, green, blue), _) => write!(bytes, ";{};2;{red};{green};{blue}", from + 8),
        (Color::Indexed(index), _) => write!(bytes, ";{};5;{index}", from + 8),
        (_, Some(number @ 0..8)) => write!(bytes, ";{}", from + number),
        (_, Some(number)) => write!(bytes, ";{}", from + BRIGHT + number - 8),
        (_, None) => Ok(()),
    };
    written.expect("memory takes all");
}

/// The colours that terminals have by number. The first eight are those of a terminal that has no more.
const SIXTEEN: [Color; 16] = [
    Color::Black,
    Color::Red,
    Color::Green,
    Color::Yellow,
    Color::Blue,
    Color::Magenta,
    Color::Cyan,
    Color::Gray,
    Color::DarkGray,
    Color::LightRed,
    Color::LightGreen,
    Color::LightYellow,
    Color::LightBlue,
    Color::LightMagenta,
    Color::LightCyan,
    Color::White,
];

/// The number of one of the 16.
pub fn number(color: Color) -> Option<u8> {
    SIXTEEN.iter().position(|of| *of == color).map(|number| number as u8)
}

/// The one of the 256 that is nearest, of those that are the same on every terminal.
pub fn nearest(color: Color) -> Color {
    let Color::Rgb(red, green, blue) = color else { return color };
    let squared = |one: u8, other: u8| u32::from(one.abs_diff(other)).pow(2);
    let distance = |index: u8| {
        let of = of_palette(index);
        squared(red, of.0) + squared(green, of.1) + squared(blue, of.2)
    };
    (16..=u8::MAX).min_by_key(|&index| distance(index)).map_or(color, Color::Indexed)
}

/// The one of the eight that is nearest. A dark grey is their white, as it is there to be read.
fn reduced(color: Color) -> Color {
    let (red, green, blue) = match color {
        Color::Reset => return color,
        Color::Rgb(red, green, blue) => (red, green, blue),
        Color::Indexed(index @ 16..) => of_palette(index),
        Color::Indexed(8) | Color::DarkGray => return Color::Gray,
        Color::Indexed(index) => return SIXTEEN[usize::from(index % 8)],
        named => return number(named).map_or(Color::Reset, |number| SIXTEEN[usize::from(number % 8)]),
    };
    let [most, least] = [red.max(green).max(blue), red.min(green).min(blue)];
    // What has no colour to speak of is black or white; of the others the brighter channels count.
    let limit = if most - least < 32 { 64 } else { least + (most - least) / 3 };
    let is_on = |channel: u8| usize::from(channel > limit);
    SIXTEEN[is_on(red) | is_on(green) << 1 | is_on(blue) << 2]
}

/// Red, green and blue of one of the 256 behind the first 16.
pub fn of_palette(index: u8) -> (u8, u8, u8) {
    if index >= 232 {
        let grey = (index - 232) * 10 + 8;
        return (grey, grey, grey);
    }
    let channel = |level: u8| if level == 0 { 0 } else { 55 + 40 * level };
    let place = index - 16;
    (channel(place / 36), channel(place / 6 % 6), channel(place % 6))
}

#[cfg(test)]
mod tests {
    use ratatui_core::style::Style;

    use super::*;

    #[test]
    fn a_style_is_written_where_it_changes_and_a_place_where_it_is_not_the_next() {
        let mut cells = vec![Cell::new("a"), Cell::new("b"), Cell::new("c")];
        cells[1].set_style(Style::new().fg(Color::Red));
        cells[2].set_style(Style::new().fg(Color::Red));
        let mut bytes = Vec::new();
        let mut backend = ColoredBackend::new(&mut bytes, Colors::Eight);
        let places = [(0, 0), (1, 0), (0, 1)];
        let content = places.iter().zip(&cells).map(|(&(column, row), cell)| (column, row, cell));
        backend.draw(content).expect("memory");
        let text = String::from_utf8(bytes).expect("ASCII").replace('\x1b', "");
        assert_eq!(text, "[1;1H[0ma[0;31mb[2;1Hc[0m");
    }

    fn written(colors: Colors, text: Color, ground: Color, modifier: Modifier) -> String {
        let mut bytes = Vec::new();
        append_style(colors, &mut bytes, text, ground, modifier);
        String::from_utf8(bytes).expect("ASCII").replace('\x1b', "")
    }

    #[test]
    fn each_number_of_colours_has_its_sequences() {
        let none = Modifier::empty();
        assert_eq!(written(Colors::None, Color::Reset, Color::Reset, none), "[0m");
        let bold = Modifier::BOLD | Modifier::REVERSED;
        assert_eq!(written(Colors::Eight, Color::Reset, Color::Reset, bold), "[0;1;7m");
        assert_eq!(written(Colors::Sixteen, Color::LightRed, Color::Cyan, none), "[0;91;46m");
        assert_eq!(written(Colors::Eight, Color::LightRed, Color::LightYellow, none), "[0;31;43m");
        assert_eq!(written(Colors::Indexed, Color::Indexed(110), Color::Black, none), "[0;38;5;110;40m");
        assert_eq!(written(Colors::True, Color::Rgb(1, 2, 3), Color::Reset, none), "[0;38;2;1;2;3m");
        assert_eq!(written(Colors::Eight, Color::Rgb(95, 175, 95), Color::Indexed(24), none), "[0;32;46m");
    }

    #[test]
    fn eight_are_those_that_look_alike() {
        for (color, expected) in [
            (Color::DarkGray, Color::Gray),
            (Color::White, Color::Gray),
            (Color::Indexed(16), Color::Black),
            (Color::Indexed(231), Color::Gray),
            (Color::Indexed(240), Color::Gray),
            (Color::Indexed(108), Color::Green),
            (Color::Indexed(110), Color::Cyan),
            (Color::Indexed(167), Color::Red),
            (Color::Indexed(134), Color::Magenta),
            (Color::Indexed(221), Color::Yellow),
            (Color::Indexed(179), Color::Yellow),
            (Color::Rgb(20, 24, 30), Color::Black),
            (Color::Rgb(38, 79, 120), Color::Cyan),
            (Color::Rgb(80, 84, 90), Color::Gray),
            (Color::Rgb(214, 90, 80), Color::Red),
        ] {
            assert_eq!(reduced(color), expected, "{color:?}");
        }
    }
}
