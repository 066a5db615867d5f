//! The event queue alone: `bare_loop EVENTS STATIONS` takes EVENTS events out of a queue with one event per station.
//! Each event only increments a counter and adds the next event of its station.
//!
//! The time of this loop is a lower bound for a run with as many events (`bench/bench.py`).

use pacelab_engine::{EventQueue, Stream};

/// Longest time between events of a station, about as on a busy chain: from a slot to a frame.
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
