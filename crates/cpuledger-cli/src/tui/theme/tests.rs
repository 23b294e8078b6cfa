//! Text can be read on its background (WCAG 2.2, level AA), and colours that mean different things look different to all.

use super::super::backend::{number, of_palette};
use super::*;

/// What text needs, and what bars and borders need.
const OF_TEXT: f64 = 4.5;
const OF_PARTS: f64 = 3.0;

type Rgb = (u8, u8, u8);

/// Backgrounds of usual terminals.
const GROUNDS: [Rgb; 2] = [(0, 0, 0), (28, 28, 28)];
const LIGHT_GROUNDS: [Rgb; 2] = [(255, 255, 255), (250, 250, 250)];

/// Red, green and blue of a colour, those of xterm for the 16; `None`: that of the terminal.
fn rgb_of(color: Color) -> Option<Rgb> {
    const XTERM: [Rgb; 16] = [
        (0, 0, 0),
        (205, 0, 0),
        (0, 205, 0),
        (205, 205, 0),
        (0, 0, 238),
        (205, 0, 205),
        (0, 205, 205),
        (229, 229, 229),
        (127, 127, 127),
        (255, 0, 0),
        (0, 255, 0),
        (255, 255, 0),
        (92, 92, 255),
        (255, 0, 255),
        (0, 255, 255),
        (255, 255, 255),
    ];
    match color {
        Color::Rgb(red, green, blue) => Some((red, green, blue)),
        Color::Indexed(index @ 16..) => Some(of_palette(index)),
        named => number(named).map(|number| XTERM[usize::from(number)]),
    }
}

fn linear(channel: u8) -> f64 {
    let share = f64::from(channel) / 255.0;
    if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
}

fn luminance((red, green, blue): Rgb) -> f64 {
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

fn contrast(one: Rgb, other: Rgb) -> f64 {
    let [one, other] = [luminance(one), luminance(other)];
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// As it is seen without the cones for green (Viénot 1999).
fn without_green((red, green, blue): Rgb) -> [f64; 3] {
    let [red, green, blue] = [red, green, blue].map(linear);
    let yellow = 0.29275 * red + 0.70725 * green;
    [yellow, yellow, -0.02234 * red + 0.02234 * green + blue]
}

fn themes() -> Vec<(&'static str, Theme, [Rgb; 2])> {
    let of = |name, colors| Theme::new(name, colors);
    vec![
        ("16", of(ThemeName::Sixteen, Colors::Sixteen), [GROUNDS[0]; 2]),
        ("256", of(ThemeName::Indexed, Colors::Indexed), GROUNDS),
        ("true", of(ThemeName::True, Colors::True), GROUNDS),
        ("contrast", of(ThemeName::Contrast, Colors::Sixteen), [GROUNDS[0]; 2]),
        ("16, light", of(ThemeName::Light, Colors::Sixteen), [LIGHT_GROUNDS[0]; 2]),
        ("256, light", of(ThemeName::Light, Colors::Indexed), LIGHT_GROUNDS),
        ("true, light", of(ThemeName::Light, Colors::True), LIGHT_GROUNDS),
    ]
}

#[test]
fn all_text_can_be_read() {
    for (name, theme, grounds) in themes() {
        let Theme { heat: [warm, hot, hottest], .. } = theme;
        let texts = [
            ("text", theme.text),
            ("own", theme.own),
            ("label", theme.label),
            ("header", theme.header),
            ("sorted", theme.sorted),
            ("selected", theme.selected),
            ("followed", theme.followed),
            ("exited", theme.exited),
            ("group", theme.group),
            ("mark", theme.mark),
            ("error", theme.error),
            ("key", theme.key),
            ("warm", warm),
            ("hot", hot),
            ("hottest", hottest),
        ];
        let parts = [theme.user, theme.system, theme.stolen, theme.idle, theme.unattributed];
        let parts = parts.into_iter().chain(theme.graph);
        let needed = texts.map(|(meaning, style)| (meaning, style, OF_TEXT)).into_iter();
        for (meaning, style, least) in needed.chain(parts.map(|style| ("part", style, OF_PARTS))) {
            // What the terminal uses for text can be read on what it uses as background.
            let Some(text) = style.fg.and_then(rgb_of) else { continue };
            for ground in grounds {
                let ground = style.bg.and_then(rgb_of).unwrap_or(ground);
                let found = contrast(text, ground);
                assert!(found >= least, "{name}, {meaning}: {found:.2} on {ground:?}");
            }
        }
    }
}

#[test]
fn parts_differ_without_red_or_green() {
    for (name, theme, _) in themes() {
        let parts = [theme.user, theme.system, theme.stolen, theme.idle];
        let seen_as = |style: Style| without_green(style.fg.and_then(rgb_of).expect("a colour"));
        let seen = parts.map(seen_as);
        for (index, one) in seen.iter().enumerate() {
            for other in &seen[index + 1..] {
                let distance =
                    one.iter().zip(other).map(|(one, other)| (one - other).powi(2)).sum::<f64>().sqrt();
                assert!(distance > 0.1, "{name}: part {index}: {distance:.3}");
            }
        }
        let system = seen_as(theme.system);
        for graph in theme.graph.map(seen_as) {
            let distance =
                graph.iter().zip(&system).map(|(one, other)| (one - other).powi(2)).sum::<f64>().sqrt();
            assert!(distance > 0.1, "{name}: graph: {distance:.3}");
        }
    }
}

#[test]
fn without_colours_there_are_none() {
    for theme in [Theme::new(ThemeName::True, Colors::None), Theme::new(ThemeName::Mono, Colors::True)] {
        let styles = [theme.text, theme.header, theme.selected, theme.user, theme.error, theme.heat[2]];
        assert!(styles.iter().all(|style| style.fg.is_none() && style.bg.is_none()));
    }
}

#[test]
fn shares_have_their_heat() {
    let theme = Theme::new(ThemeName::True, Colors::True);
    assert_eq!(theme.heat(199), None);
    let steps = [200, 500, 900, 6400].map(|share| theme.heat(share).and_then(|style| style.fg));
    assert_eq!(steps, [0, 1, 2, 2].map(|step| theme.heat[step].fg));
}

#[test]
fn the_number_of_a_background_says_whether_it_is_light() {
    assert_eq!([0, 6, 7, 8, 15, 16].map(is_light), [false, false, true, false, true, false]);
}
