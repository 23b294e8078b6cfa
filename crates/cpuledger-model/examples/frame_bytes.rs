//! Where the bytes of a frame are, and what it costs to encode it: `cargo run --release -p cpuledger-model --example frame_bytes -- FILE`.

use std::time::Instant;

use cpuledger_model::frame::{Column, Frame};

const ROUNDS: usize = 5000;

fn u16_at(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let frame = Frame::decode(&std::fs::read(path)?)?;
    let mut bytes = Vec::new();
    frame.encode(&mut bytes)?;
    for section in 0..u16_at(&bytes, 14) {
        let entry = u16_at(&bytes, 12) + section * u16_at(&bytes, 16);
        let (fields, record_bytes, records) =
            (u16_at(&bytes, entry + 2), u32_at(&bytes, entry + 4), u32_at(&bytes, entry + 8));
        println!(
            "section {}: {fields} fields, {records} records of {record_bytes} bytes",
            u16_at(&bytes, entry)
        );
        for field in 0..fields {
            let at = u32_at(&bytes, entry + 12) + field * u16_at(&bytes, 18);
            if bytes[at + 4] > 0 {
                let name = Column::by_id(u16_at(&bytes, at) as u16).map_or("?", Column::name);
                let how = if bytes[at + 3] & 2 == 0 { "" } else { ", by the process" };
                println!("  {name}: {} bytes{how}", bytes[at + 4]);
            }
        }
    }
    let mut times: Vec<u128> = (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            frame.encode(&mut bytes).map(|()| begin.elapsed().as_nanos())
        })
        .collect::<Result<_, _>>()?;
    times.sort_unstable();
    println!("{} bytes, encoded in {} ns (median)", bytes.len(), times[times.len() / 2]);
    Ok(())
}
