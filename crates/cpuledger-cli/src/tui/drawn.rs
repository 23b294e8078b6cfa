//! What the screen draws of a recording, for fuzz targets.

use cpuledger_program::colors::Colors;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::config::Settings;
use super::state::State;
use super::theme::{Theme, ThemeName};
use super::timeline::Timeline;
use super::travel::Travel;
use super::view::{self, Look};
use crate::cmd::top::options::{Arguments, Options};
use crate::cmd::top::replay::Recorded;

/// Keys that change what is drawn: threads, all rows, tree, groups, what exited, states, arguments, the machine's percent, exact figures, CPUs.
const VIEWS: &str = "HiAtgggxwwcn%1m";
/// Intervals that are drawn of a recording; more of them take the target longer and show the same.
const MOST_INTERVALS: usize = 8;
const SIZES: [(u16, u16); 2] = [(200, 24), (40, 10)];

/// Each view of each interval, as text, one after the other. Its order follows the recording alone.
///
/// # Errors
/// When the recording cannot be shown.
pub fn drawn(arguments: &Arguments) -> anyhow::Result<Vec<String>> {
    let options = Options::parse(arguments, true)?;
    let asked = options.replay.as_ref().ok_or_else(|| anyhow::anyhow!("no recording"))?;
    let mut recorded = Recorded::open(&asked.path, asked.span)?;
    recorded.replay.set_length(options.delay_ns);
    let (mut timeline, mut arrival) = Timeline::of_recording(recorded, asked)?;
    let mut state = State::new(Settings::default(), options);
    let mut texts = Vec::new();
    for _ in 0..MOST_INTERVALS {
        let Some(frame) = arrival.frame.take() else { break };
        state.show(frame);
        state.strip = timeline.strip();
        for key in VIEWS.chars() {
            // What a key asks of the machine is not done.
            state.key(&KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE));
            state.key(&KeyEvent::new(KeyCode::End, KeyModifiers::NONE));
            texts.extend(SIZES.map(|size| text(&mut state, size)));
        }
        arrival = timeline.go(Travel::Step(1))?;
    }
    Ok(texts)
}

fn text(state: &mut State, (width, height): (u16, u16)) -> String {
    let look = Look { theme: Theme::new(ThemeName::Sixteen, Colors::Sixteen), is_ascii: false };
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    state.layout = view::layout(state, (width, height));
    state.clamp();
    view::draw(state, &look, &mut buffer);
    buffer.content.iter().map(|cell| cell.symbol()).collect()
}
