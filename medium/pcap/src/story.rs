//! What became of each frame: who decoded it, who lost it and why, in words for packet comments.

use std::collections::HashMap;

use pacelab_engine::{Happening, Kind, Ns, Record};
use pacelab_network::airlog::AirLog;

use crate::frame::{IpPacket, encode};

/// EDCA's access categories: so many packets a station may be trying to send at once.
const QUEUES: usize = 4;

/// One station's view of one frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When its first bit came by.
    pub at: Ns,
    pub station: u32,
    /// Place in the log's frames.
    pub frame: usize,
    pub how: How,
    pub comment: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    Sent,
    Decoded,
    Garbled,
}

/// What the log says about a frame beyond its own entry.
#[derive(Clone, Debug, Default)]
pub struct Fate {
    /// Place in `Story::packets`.
    pub packet: Option<usize>,
    /// Data that was sent before.
    pub retry: bool,
    /// The packet was given up after this frame.
    pub given_up: bool,
    notes: Vec<String>,
    /// Its receiver decoded it.
    arrived: bool,
    /// Why its receiver did not.
    lost: Option<String>,
}

pub struct Story {
    pub seen: Vec<Seen>,
    pub fates: Vec<Fate>,
    pub packets: Vec<IpPacket>,
}

/// What a station is receiving.
#[derive(Clone, Debug, Default)]
struct Reception {
    /// The frame locked on, and those that fell into it: whose, and when they began to arrive.
    involved: Vec<(u32, Ns)>,
    survived: Vec<u32>,
}

/// A station while its records are read.
#[derive(Clone, Debug, Default)]
struct Memory {
    /// Places of its frames, by time.
    frames: Vec<usize>,
    reception: Option<Reception>,
    /// Numbers of the packets being tried again, and how often: with four queues there may be four.
    retried: Vec<(u32, u64)>,
    /// Numbers of the data frames last sent.
    recent: [Option<u32>; 2 * QUEUES],
    next_recent: usize,
    /// Place in `seen` of the last frame decoded here.
    last_decoded: Option<usize>,
}

struct Narrator<'a> {
    log: &'a AirLog,
    stations: Vec<Memory>,
    seen: Vec<Seen>,
    fates: Vec<Fate>,
}

/// Reads the log once, in order of time.
pub fn tell(log: &AirLog, garbled: bool) -> Story {
    let stations = vec![Memory::default(); log.node_of.len()];
    let mut narrator = Narrator { log, stations, seen: Vec::new(), fates: vec![Fate::default(); log.frames.len()] };
    let packets = narrator.resolve_packets();
    let mut records = log.records.iter().peekable();
    for (place, frame) in log.frames.iter().enumerate() {
        while let Some(record) = records.next_if(|record| record.at < frame.at) {
            narrator.read(record, garbled);
        }
        narrator.send(place);
    }
    for record in records {
        narrator.read(record, garbled);
    }
    narrator.conclude();
    let Narrator { mut seen, fates, .. } = narrator;
    seen.sort_by_key(|seen| (seen.at, seen.how, seen.station));
    Story { seen, fates, packets }
}

impl Narrator<'_> {
    /// Finds the packet in each data frame: the last one of its number enqueued before it.
    fn resolve_packets(&mut self) -> Vec<IpPacket> {
        let mut latest = HashMap::new();
        let mut enqueued = self.log.packets.iter().enumerate().peekable();
        let mut encoded: Vec<Option<IpPacket>> = vec![None; self.log.packets.len()];
        for (frame, fate) in self.log.frames.iter().zip(&mut self.fates) {
            while let Some((place, packet)) = enqueued.next_if(|(_, packet)| packet.at <= frame.at) {
                latest.insert(packet.id, place);
            }
            if frame.kind != Kind::Data {
                continue;
            }
            fate.packet = latest.get(&frame.packet).copied();
            if let Some(place) = fate.packet {
                encoded[place].get_or_insert_with(|| encode(&self.log.packets[place].packet, frame.to.is_none()));
            }
        }
        encoded.into_iter().map(Option::unwrap_or_default).collect()
    }

    fn send(&mut self, place: usize) {
        let frame = &self.log.frames[place];
        let here = &mut self.stations[frame.station as usize];
        here.frames.push(place);
        if let Some(reception) = &mut here.reception {
            reception.involved.push((frame.station, frame.at));
        }
        if matches!(frame.kind, Kind::Rts | Kind::Data) {
            if let Some((_, count)) = here.retried.iter().find(|&&(number, _)| number == frame.number) {
                self.fates[place].notes.push(format!("retry {count}"));
            }
        }
        if frame.kind == Kind::Data {
            self.fates[place].retry = here.recent.contains(&Some(frame.number));
            if !self.fates[place].retry {
                here.recent[here.next_recent] = Some(frame.number);
                here.next_recent = (here.next_recent + 1) % here.recent.len();
            }
        }
        self.seen.push(Seen {
            at: frame.at,
            station: frame.station,
            frame: place,
            how: How::Sent,
            comment: String::new(),
        });
    }

    fn read(&mut self, record: &Record, garbled: bool) {
        let here = &mut self.stations[record.station as usize];
        match (record.what, record.peer) {
            (Happening::Lock, Some(peer)) => {
                here.reception = Some(Reception { involved: vec![(peer, record.at)], survived: Vec::new() });
            }
            (Happening::Collide, Some(peer)) => {
                if let Some(reception) = &mut here.reception {
                    reception.involved.push((peer, record.at));
                }
            }
            (Happening::Capture, Some(peer)) => {
                let Some(reception) = &mut here.reception else { return };
                reception.survived.push(peer);
                let holder = reception.involved[0].0;
                self.lose(record, peer, format!("{} held on to {}", self.name(record.station), self.name(holder)));
            }
            (Happening::Decode, Some(peer)) => self.decode(record, peer),
            (Happening::Garbled, _) => self.garble(record, garbled),
            (Happening::RefuseCts, Some(peer)) => {
                let why = format!("{} did not answer: the medium was busy there", self.name(record.station));
                self.remark(peer, record.at, &[Kind::Rts], why);
            }
            (Happening::HoldData, _) => {
                if let Some(last) = here.last_decoded {
                    append(&mut self.seen[last].comment, "data held back: the medium was busy");
                }
            }
            (Happening::Retry, _) => {
                let Some(place) = self.last_try(record.station) else { return };
                let number = self.log.frames[place].number;
                let retried = &mut self.stations[record.station as usize].retried;
                retried.retain(|&(other, _)| other != number);
                retried.insert(0, (number, record.value));
                retried.truncate(QUEUES);
            }
            (Happening::DropRts | Happening::DropData, _) => {
                if let Some(place) = self.last_try(record.station) {
                    self.fates[place].given_up = true;
                }
            }
            _ => {}
        }
    }

    fn decode(&mut self, record: &Record, peer: u32) {
        let here = &mut self.stations[record.station as usize];
        let survived = here.reception.take().map(|reception| reception.survived).unwrap_or_default();
        let Some(place) = self.ended_before(peer, record.at) else { return };
        let frame = &self.log.frames[place];
        self.fates[place].arrived |= frame.to == Some(record.station);
        let comment =
            if survived.is_empty() { String::new() } else { format!("captured over {}", self.names(&survived)) };
        self.stations[record.station as usize].last_decoded = Some(self.seen.len());
        self.seen.push(Seen {
            at: record.at - frame.airtime_ns,
            station: record.station,
            frame: place,
            how: How::Decoded,
            comment,
        });
    }

    /// A reception has failed: every frame that took part in it is lost here.
    fn garble(&mut self, record: &Record, garbled: bool) {
        let Some(reception) = self.stations[record.station as usize].reception.take() else { return };
        for &(peer, at) in &reception.involved {
            let others = reception.involved.iter().map(|&(other, _)| other).filter(|&other| other != peer);
            let mut others: Vec<u32> = others.collect();
            others.dedup();
            if others.is_empty() || peer == record.station {
                continue;
            }
            let what = if others == [record.station] {
                format!("{} was sending", self.name(record.station))
            } else {
                format!("collided with {}", self.names(&others))
            };
            self.lose(record, peer, what.clone());
            if let Some(frame) = self.begun_before(peer, at).filter(|_| garbled) {
                let station = record.station;
                self.seen.push(Seen { at, station, frame, how: How::Garbled, comment: what });
            }
        }
    }

    /// Notes why the frame of `peer` under way at `record.at` was lost, if it was for that station.
    fn lose(&mut self, record: &Record, peer: u32, why: String) {
        let Some(place) = self.begun_before(peer, record.at) else { return };
        if self.log.frames[place].to == Some(record.station) && self.fates[place].lost.is_none() {
            self.fates[place].lost = Some(why);
        }
    }

    /// Adds to what is known of the last frame of `kinds` that `peer` had sent at `at`.
    fn remark(&mut self, peer: u32, at: Ns, kinds: &[Kind], what: String) {
        let Some(place) = self.ended_before(peer, at) else { return };
        if kinds.contains(&self.log.frames[place].kind) {
            self.fates[place].notes.push(what);
        }
    }

    /// The last frame of `station` that had begun at `at`.
    fn begun_before(&self, station: u32, at: Ns) -> Option<usize> {
        let mut frames = self.stations[station as usize].frames.iter().rev().copied();
        frames.find(|&place| self.log.frames[place].at <= at)
    }

    /// The last frame of `station` that had ended at `at`.
    fn ended_before(&self, station: u32, at: Ns) -> Option<usize> {
        let frames = self.stations[station as usize].frames.iter().rev().copied();
        frames.take(3).find(|&place| self.log.frames[place].at + self.log.frames[place].airtime_ns <= at)
    }

    /// The last RTS or data frame of `station`.
    fn last_try(&self, station: u32) -> Option<usize> {
        let mut frames = self.stations[station as usize].frames.iter().rev().copied();
        frames.find(|&place| matches!(self.log.frames[place].kind, Kind::Rts | Kind::Data))
    }

    /// Puts what is known at the end into the comments of the frames sent.
    fn conclude(&mut self) {
        for place in 0..self.log.frames.len() {
            let frame = &self.log.frames[place];
            let over = frame.at + frame.airtime_ns < self.log.end;
            if let (Some(to), false, true) = (frame.to, self.fates[place].arrived, over) {
                let why = self.fates[place].lost.take().or_else(|| self.was_sending(to, place));
                let why = why.map_or_else(String::new, |why| format!(": {why}"));
                let note = format!("lost at {}{why}", self.name(to));
                self.fates[place].notes.push(note);
            }
            if self.fates[place].given_up {
                self.fates[place].notes.push("packet dropped after this attempt".into());
            }
        }
        for seen in self.seen.iter_mut().filter(|seen| seen.how == How::Sent) {
            for note in &self.fates[seen.frame].notes {
                append(&mut seen.comment, note);
            }
        }
    }

    fn was_sending(&self, station: u32, place: usize) -> Option<String> {
        let frame = &self.log.frames[place];
        let own = &self.stations[station as usize].frames;
        let after = own.partition_point(|&other| self.log.frames[other].at < frame.at + frame.airtime_ns);
        let last = own[..after].last().map(|&other| &self.log.frames[other])?;
        (last.at + last.airtime_ns > frame.at).then(|| format!("{} was sending", self.name(station)))
    }

    fn name(&self, station: u32) -> &str {
        &self.log.names[self.log.node_of[station as usize] as usize]
    }

    fn names(&self, stations: &[u32]) -> String {
        let names: Vec<&str> = stations.iter().map(|&station| self.name(station)).collect();
        names.join(" and ")
    }
}

fn append(comment: &mut String, more: &str) {
    if !comment.is_empty() {
        comment.push_str("; ");
    }
    comment.push_str(more);
}

#[cfg(test)]
mod tests {
    use pacelab_engine::Sent;

    use super::*;

    /// n0 and n2 cannot hear each other, n1 hears both, 1 us away.
    fn log(frames: Vec<Sent>, records: Vec<(Ns, u32, Happening, Option<u32>, u64)>) -> AirLog {
        let records = records
            .into_iter()
            .map(|(at, station, what, peer, value)| Record { at, station, what, peer, value })
            .collect();
        let names = ["n0", "n1", "n2"].map(String::from).to_vec();
        AirLog { names, node_of: vec![0, 1, 2], records, frames, end: 10_000_000, ..AirLog::default() }
    }

    fn sent(at: Ns, station: u32, to: u32, kind: Kind, airtime_ns: Ns) -> Sent {
        Sent { at, station, to: Some(to), kind, airtime_ns, duration_ns: 0, rate_bps: 1_000_000, packet: 0, number: 1 }
    }

    fn lines(story: &Story) -> Vec<(Ns, u32, How, &str)> {
        story.seen.iter().map(|seen| (seen.at, seen.station, seen.how, seen.comment.as_str())).collect()
    }

    #[test]
    fn two_hidden_senders_collide_and_one_tries_again() {
        let frames = vec![
            sent(0, 0, 1, Kind::Data, 1_000_000),
            sent(500_000, 2, 1, Kind::Data, 1_000_000),
            sent(3_000_000, 0, 1, Kind::Data, 1_000_000),
        ];
        let records = vec![
            (1_000, 1, Happening::Lock, Some(0), 1_001_000),
            (501_000, 1, Happening::Collide, Some(2), 0),
            (1_501_000, 1, Happening::Garbled, Some(2), 0),
            (1_600_000, 0, Happening::Retry, Some(1), 1),
            (3_001_000, 1, Happening::Lock, Some(0), 4_001_000),
            (4_001_000, 1, Happening::Decode, Some(0), 0),
        ];
        let log = log(frames, records);
        let story = tell(&log, true);
        assert_eq!(
            lines(&story),
            [
                (0, 0, How::Sent, "lost at n1: collided with n2"),
                (1_000, 1, How::Garbled, "collided with n2"),
                (500_000, 2, How::Sent, "lost at n1: collided with n0"),
                (501_000, 1, How::Garbled, "collided with n0"),
                (3_000_000, 0, How::Sent, "retry 1"),
                (3_001_000, 1, How::Decoded, ""),
            ]
        );
        assert_eq!(story.fates.iter().map(|fate| fate.retry).collect::<Vec<_>>(), [false, false, true]);
        assert_eq!(tell(&log, false).seen.len(), 4, "garbled frames only when asked for");
    }

    #[test]
    fn a_captured_frame_names_what_it_survived_and_the_loser_who_was_heard() {
        let frames = vec![sent(0, 0, 1, Kind::Rts, 352_000), sent(100_000, 2, 1, Kind::Rts, 352_000)];
        let records = vec![
            (1_000, 1, Happening::Lock, Some(0), 353_000),
            (101_000, 1, Happening::Capture, Some(2), 0),
            (353_000, 1, Happening::Decode, Some(0), 0),
        ];
        let story = tell(&log(frames, records), false);
        assert_eq!(
            lines(&story),
            [
                (0, 0, How::Sent, ""),
                (1_000, 1, How::Decoded, "captured over n2"),
                (100_000, 2, How::Sent, "lost at n1: n1 held on to n0"),
            ]
        );
    }

    #[test]
    fn an_rts_that_is_refused_and_the_last_one_say_so() {
        let frames = vec![sent(0, 0, 1, Kind::Rts, 352_000), sent(2_000_000, 0, 1, Kind::Rts, 352_000)];
        let records = vec![
            (1_000, 1, Happening::Lock, Some(0), 353_000),
            (353_000, 1, Happening::Decode, Some(0), 0),
            (363_000, 1, Happening::RefuseCts, Some(0), 0),
            (700_000, 0, Happening::Retry, Some(1), 6),
            (2_700_000, 0, Happening::DropRts, Some(1), 0),
        ];
        let log = log(frames, records);
        let story = tell(&log, false);
        assert_eq!(story.seen[0].comment, "n1 did not answer: the medium was busy there");
        assert_eq!(story.seen[2].comment, "retry 6; lost at n1; packet dropped after this attempt");
        assert!(story.fates[1].given_up);
    }
}
