//! The agenda alone: `bare_loop EVENTS STATIONS` takes so many events out of an agenda in which each station has one,
//! and for each does no more than note it at its station and put the next one in.
//!
//! What a run of as many events cannot be cheaper than, as long as each is an event of its own (`bench/bench.py`).

use pacelab_engine::{EventQueue, Stream};

/// Events of a station lie about as far apart as on a busy chain: a slot to a frame.
const LONGEST_WAIT_NS: u32 = 6_000_000;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|word| word.parse::<u64>());
    let (Some(Ok(events)), Some(Ok(stations))) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: bare_loop EVENTS STATIONS");
        std::process::exit(2);
    };
    let mut stream = Stream::new(1, 0);
    let mut event_queue = EventQueue::default();
    let mut seen = vec![0u64; stations as usize];
    for station in 0..stations as u32 {
        event_queue.push(u64::from(stream.below(LONGEST_WAIT_NS)), station);
    }
    for _ in 0..events {
        let Some((at, station)) = event_queue.pop() else { break };
        seen[station as usize] += 1;
        event_queue.push(at + u64::from(stream.below(LONGEST_WAIT_NS)), station);
    }
    println!("{}", seen.iter().sum::<u64>());
}
