//! Pictures of the screen in a browser: letters and blanks stand where they stood in the terminal.

use std::fs::{self, File};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cpuledger_load::not_run;

/// Geometry of `scripts/terminal-svg`, in units of the picture.
const MARGIN: f64 = 12.0;
const CELL_WIDTH: f64 = 8.4;
const CELL_HEIGHT: f64 = 18.0;

/// Pixels of a unit.
const SCALE: f64 = 2.0;

/// Where the letter of a neighbour may reach into a cell: what leans, and what is bold.
const OVERHANG: f64 = 2.0;

/// What a terminal shows, line by line.
type Lines = Vec<Vec<char>>;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pixels of a picture, drawn by a browser as part of a page.
struct Drawn {
    width: usize,
    channels: usize,
    bytes: Vec<u8>,
}

/// What draws: each browser has other rules for blanks and widths.
const BROWSERS: [&str; 2] = ["chromium", "firefox-esr"];

/// Draws in each browser that there is, and compares.
fn assert_drawn_as(picture: &str, lines: &Lines) {
    for browser in BROWSERS {
        if let Some(drawn) = drawn(browser, picture) {
            drawn.assert_stands_as(browser, lines);
        }
    }
}

/// `None`: there is no such browser.
fn drawn(browser: &str, picture: &str) -> Option<Drawn> {
    let folder = tempfile::tempdir().expect("a folder");
    let [svg, page, png, profile] =
        ["picture.svg", "page.html", "page.png", "profile"].map(|name| folder.path().join(name));
    fs::write(&svg, picture).expect("a file");
    let size =
        picture.split("viewBox=\"0 0 ").nth(1).and_then(|rest| rest.split('"').next()).expect("a size");
    let larger = |size: &str| size.parse::<f64>().expect("a number") * SCALE;
    let (width, height) =
        size.split_once(' ').map(|(width, height)| (larger(width), larger(height))).expect("two numbers");
    let html = format!(
        "<body style=\"margin:0\"><img src=\"picture.svg\" width=\"{width}\" height=\"{height}\"></body>"
    );
    fs::write(&page, html).expect("a file");
    fs::create_dir(&profile).expect("a folder");
    let (profile, png_path) = (profile.display(), png.display());
    let of_browser = match browser {
        "chromium" => vec![
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--hide-scrollbars".to_owned(),
            format!("--user-data-dir={profile}"),
            format!("--screenshot={png_path}"),
        ],
        _ => vec![
            "--no-remote".to_owned(),
            "--profile".to_owned(),
            profile.to_string(),
            "--screenshot".to_owned(),
            png_path.to_string(),
        ],
    };
    let output = Command::new(browser)
        // Some of the height is taken for a frame that is not there.
        .args(["--headless", "--window-size=2400,1800"])
        .args(of_browser)
        .arg(format!("file://{}", page.display()))
        // Firefox keeps files of its own there.
        .env("HOME", folder.path())
        .output();
    match output {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            not_run(&format!("there is no {browser}; scripts/install-packages test installs it"));
            return None;
        }
        Err(error) => panic!("{browser}: {error}"),
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
    }
    let decoder = png::Decoder::new(BufReader::new(File::open(png).expect("a screenshot")));
    let mut reader = decoder.read_info().expect("a picture");
    let mut bytes = vec![0; reader.output_buffer_size().expect("it is small")];
    let frame = reader.next_frame(&mut bytes).expect("pixels");
    Some(Drawn { width: frame.width as usize, channels: frame.color_type.samples(), bytes })
}

impl Drawn {
    /// Whether anything is drawn in the middle of a cell: what is not all of one colour.
    fn has_ink(&self, row: usize, column: usize) -> bool {
        let pixels = |from: f64, to: f64| (from * SCALE) as usize..(to * SCALE) as usize;
        let left = MARGIN + column as f64 * CELL_WIDTH;
        let top = MARGIN + row as f64 * CELL_HEIGHT;
        let mut colors = pixels(top + 2.0, top + CELL_HEIGHT - 2.0).flat_map(|y| {
            pixels(left + OVERHANG, left + CELL_WIDTH - OVERHANG)
                .map(move |x| (y * self.width + x) * self.channels)
        });
        let first = colors.next().expect("a cell has pixels");
        let color = |at: usize| &self.bytes[at..at + 3];
        colors.any(|at| color(at).iter().zip(color(first)).any(|(one, other)| one.abs_diff(*other) > 24))
    }

    /// Each letter and digit is in its cell, and nothing is where blanks are.
    fn assert_stands_as(&self, browser: &str, lines: &Lines) {
        let (mut letters, mut blanks, mut wrong) = (0, 0, Vec::new());
        for (row, line) in lines.iter().enumerate() {
            for (column, &character) in line.iter().enumerate() {
                let (count, is_expected) = match character {
                    ' ' => (&mut blanks, false),
                    _ if character.is_ascii_alphanumeric() => (&mut letters, true),
                    // A line that is thin, or fills its cell.
                    _ => continue,
                };
                *count += 1;
                if self.has_ink(row, column) != is_expected {
                    wrong.push(format!("{character:?} at {column} of line {row}"));
                }
            }
        }
        assert!(
            letters > 50 && blanks > 50,
            "{browser}: {letters} letters and {blanks} blanks were compared"
        );
        assert!(
            wrong.is_empty(),
            "{browser}: {} of {} cells: {}",
            wrong.len(),
            letters + blanks,
            wrong.join(", ")
        );
    }
}

/// The number, or the first of the numbers, of an attribute.
fn number(element: &str, name: &str) -> f64 {
    let rest = element.split(&format!("{name}=\"")).nth(1).expect("an attribute");
    rest.split(['"', ' ']).next().and_then(|number| number.parse().ok()).expect("a number")
}

/// What a picture says of its own: each text from its place on, and blocks, which are rectangles with parts of a unit.
fn lines_of(picture: &str) -> Lines {
    let mut lines = Lines::new();
    let mut put = |row: f64, column: f64, text: &str| {
        let (row, column) = (row.round() as usize, column.round() as usize);
        if lines.len() <= row {
            lines.resize(row + 1, Vec::new());
        }
        let (length, end) = (lines[row].len(), column + text.chars().count());
        lines[row].resize(length.max(end), ' ');
        lines[row].splice(column..end, text.chars());
    };
    for element in picture.split("<text ").skip(1) {
        let text = element.split('>').nth(1).and_then(|rest| rest.split('<').next()).expect("a text");
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        let row = (number(element, "y") + 5.0 - MARGIN) / CELL_HEIGHT - 1.0;
        put(row, (number(element, "x") - MARGIN) / CELL_WIDTH - 0.5, &text);
    }
    let is_block = |element: &&str| {
        element
            .split("height=\"")
            .nth(1)
            .is_some_and(|rest| rest.split('"').next().is_some_and(|height| height.contains('.')))
    };
    for element in picture.split("<rect ").skip(1).filter(is_block) {
        let row = (number(element, "y") + number(element, "height") - MARGIN) / CELL_HEIGHT - 1.0;
        put(row, (number(element, "x") - MARGIN) / CELL_WIDTH, "█");
    }
    lines
}

/// Whether pictures are compared: browsers take long to start on a machine that CI has.
fn is_wanted() -> bool {
    let is_wanted = std::env::var_os("CPULEDGER_TEST_CLIENTS").is_some();
    if !is_wanted {
        not_run("pictures are compared in browsers only with CPULEDGER_TEST_CLIENTS=1");
    }
    is_wanted
}

#[test]
fn pictures_of_the_documents_have_their_columns() {
    if !is_wanted() {
        return;
    }
    let docs = fs::read_dir(repository().join("docs")).expect("it is there").flatten();
    let is_picture = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "svg");
    let pictures: Vec<PathBuf> = docs.map(|entry| entry.path()).filter(is_picture).collect();
    assert!(!pictures.is_empty());
    for path in pictures {
        let picture = fs::read_to_string(&path).expect("a picture");
        assert!(picture.contains(">PID<"), "{}: it shows the screen", path.display());
        assert_drawn_as(&picture, &lines_of(&picture));
    }
}

#[test]
fn what_a_terminal_shows_is_drawn_where_it_stands() {
    if !is_wanted() {
        return;
    }
    let shown = "ptop - 12:00:01 up 1 day,  load average: 0.50\n\
                 \x1b[38;5;110m  0\x1b[39m[\x1b[38;5;71m|||\x1b[38;5;167m##\x1b[39m      99.8%]   1[      0.0%] \n\
                 \x1b[38;5;16m\x1b[48;5;108m    PID USER      S \x1b[1m\x1b[4m%CPUv\x1b[0m\x1b[30m\x1b[42m  SELF COMMAND   \x1b[0m\n\
                 \x1b[39m   2846 root      R 180.0  92.1 a & b <c>\n\
                 \x1b[3m\x1b[38;5;244m   ×312             62.4     - [+] größe x\x1b[0m\n";
    let mut command = Command::new("awk")
        .args(["-v", "columns=50", "-v", "rows=5", "-v", "title=Sample", "-f"])
        .arg(repository().join("scripts/terminal-svg"))
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("awk");
    command.stdin.take().expect("a pipe").write_all(shown.as_bytes()).expect("awk reads");
    let output = command.wait_with_output().expect("awk ends");
    assert!(output.status.success());
    let picture = String::from_utf8(output.stdout).expect("UTF-8");
    let plain = shown.split("\x1b[").enumerate().map(|(index, piece)| match piece.split_once('m') {
        Some((_, text)) if index > 0 => text,
        _ => piece,
    });
    let lines: Lines = plain.collect::<String>().lines().map(|line| line.chars().collect()).collect();
    assert_eq!(lines[4][..12].iter().collect::<String>(), "   ×312     ");
    assert_drawn_as(&picture, &lines);
}
