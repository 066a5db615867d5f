//! Annotations of frames: which stations decoded a frame, and which lost it and why, as text for packet comments.

use std::collections::{HashMap, VecDeque};
use std::ops::RangeInclusive;

use pacelab_engine::{Kind, Ns, TraceEvent, TraceRecord};
use pacelab_network::airlog::AirLog;
use pacelab_network::ids::{IdVec, StationId};

use crate::frame::{IpPacket, encode};

/// Access categories of EDCA: a station may be trying to send this many packets at once.
const QUEUES: usize = 4;

/// Data frames that a station remembers to recognise a repetition: two windows of a Block Ack agreement.
const RECENT_NUMBERS: usize = 2 * 256;
/// How far back a station's last ended frame can be: an aggregate in progress has up to 256 MPDUs.
const RECENT_FRAMES: usize = 3 * 256;

/// One station's view of one frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// When the first bit was sent or arrived.
    pub at: Ns,
    pub station: StationId,
    /// Index in the log's frames.
    pub frame: usize,
    pub kind: ObservationKind,
    pub comment: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObservationKind {
    Sent,
    Decoded,
    Garbled,
}

/// Facts about a frame from the rest of the log.
#[derive(Clone, Debug, Default)]
pub struct Annotation {
    /// Index in `FrameAnnotations::packets`.
    pub packet: Option<usize>,
    /// Data that was sent before.
    pub retry: bool,
    /// The packet was given up after this frame.
    pub given_up: bool,
    notes: Vec<String>,
    /// Its receiver decoded it.
    arrived: bool,
    /// Why its receiver did not decode it.
    lost: Option<String>,
}

pub struct FrameAnnotations {
    pub observations: Vec<Observation>,
    pub annotations: Vec<Annotation>,
    pub packets: Vec<IpPacket>,
}

/// The reception in progress at a station.
#[derive(Clone, Debug, Default)]
struct Reception {
    /// The locked frame and the frames that overlapped it: sender, and when the frame began to arrive.
    involved: Vec<(StationId, Ns)>,
    survived: Vec<StationId>,
}

/// The state of a station while the log is read.
#[derive(Clone, Debug, Default)]
struct StationState {
    /// Places of its frames, by time.
    frames: Vec<usize>,
    reception: Option<Reception>,
    /// Numbers of the frames being repeated, and their retry counts. With four queues there may be four.
    retried: Vec<(u32, u64)>,
    /// Numbers of the data frames last sent.
    recent: VecDeque<u32>,
    /// Index in `observations` of the last frame decoded here.
    last_decoded: Option<usize>,
    /// Of an aggregate of more than 64 MPDUs: a bit for each of the further ones that was decoded.
    decoded_further: Vec<u64>,
}

struct Annotator<'a> {
    log: &'a AirLog,
    stations: IdVec<StationId, StationState>,
    observations: Vec<Observation>,
    annotations: Vec<Annotation>,
}

fn carries_data(kind: Kind) -> bool {
    matches!(kind, Kind::Data | Kind::Aggregate)
}

/// Reads the log once, in order of time.
pub fn annotate(log: &AirLog, garbled: bool) -> FrameAnnotations {
    let stations = IdVec::filled(StationState::default(), log.node_of.len());
    let mut annotator = Annotator {
        log,
        stations,
        observations: Vec::new(),
        annotations: vec![Annotation::default(); log.frames.len()],
    };
    let packets = annotator.resolve_packets();
    let mut records = log.records.iter().peekable();
    for (place, frame) in log.frames.iter().enumerate() {
        while let Some(record) = records.next_if(|record| record.at < frame.at) {
            annotator.read(record, garbled);
        }
        annotator.send(place);
    }
    for record in records {
        annotator.read(record, garbled);
    }
    annotator.conclude();
    let Annotator { mut observations, annotations, .. } = annotator;
    observations.sort_by_key(|seen| (seen.at, seen.kind, seen.station));
    FrameAnnotations { observations, annotations, packets }
}

impl Annotator<'_> {
    /// Finds the packet in each data frame: the last one of its number enqueued before it.
    fn resolve_packets(&mut self) -> Vec<IpPacket> {
        let mut latest = HashMap::new();
        let mut enqueued = self.log.packets.iter().enumerate().peekable();
        let mut encoded: Vec<Option<IpPacket>> = vec![None; self.log.packets.len()];
        for (frame, annotation) in self.log.frames.iter().zip(&mut self.annotations) {
            while let Some((place, packet)) = enqueued.next_if(|(_, packet)| packet.at <= frame.at) {
                latest.insert(packet.id, place);
            }
            if !carries_data(frame.kind) {
                continue;
            }
            annotation.packet = latest.get(&frame.packet).copied();
            if let Some(place) = annotation.packet {
                encoded[place].get_or_insert_with(|| encode(&self.log.packets[place].packet, frame.to.is_none()));
            }
        }
        encoded.into_iter().map(Option::unwrap_or_default).collect()
    }

    fn send(&mut self, place: usize) {
        let frame = &self.log.frames[place];
        let station = &mut self.stations[frame.station];
        station.frames.push(place);
        if let Some(reception) = &mut station.reception {
            reception.involved.push((frame.station, frame.at));
        }
        if matches!(frame.kind, Kind::Rts | Kind::Data | Kind::Aggregate) {
            if let Some((_, count)) = station.retried.iter().find(|&&(number, _)| number == frame.number) {
                self.annotations[place].notes.push(format!("retry {count}"));
            }
        }
        if carries_data(frame.kind) {
            self.annotations[place].retry = station.recent.contains(&frame.number);
            if !self.annotations[place].retry {
                station.recent.push_front(frame.number);
                station.recent.truncate(RECENT_NUMBERS);
            }
        }
        self.observations.push(Observation {
            at: frame.at,
            station: frame.station,
            frame: place,
            kind: ObservationKind::Sent,
            comment: String::new(),
        });
    }

    fn read(&mut self, record: &TraceRecord, garbled: bool) {
        let station = &mut self.stations[record.station];
        match (record.what, record.peer) {
            (TraceEvent::Lock, Some(peer)) => {
                station.reception = Some(Reception { involved: vec![(peer, record.at)], survived: Vec::new() });
            }
            (TraceEvent::Collide, Some(peer)) => {
                if let Some(reception) = &mut station.reception {
                    reception.involved.push((peer, record.at));
                }
            }
            (TraceEvent::Capture, Some(peer)) => {
                let Some(reception) = &mut station.reception else { return };
                reception.survived.push(peer);
                let holder = reception.involved[0].0;
                self.lose(record, peer, format!("{} held on to {}", self.name(record.station), self.name(holder)));
            }
            (TraceEvent::DecodeFurther, _) => station.decoded_further.push(record.value),
            (TraceEvent::Decode, Some(peer)) => self.decode(record, peer),
            (TraceEvent::Garbled, _) => self.garble(record, garbled),
            (TraceEvent::RefuseCts, Some(peer)) => {
                let why = format!("{} did not answer: the medium was busy there", self.name(record.station));
                self.remark(peer, record.at, &[Kind::Rts], why);
            }
            (TraceEvent::HoldData, _) => {
                if let Some(last) = station.last_decoded {
                    append(&mut self.observations[last].comment, "data held back: the medium was busy");
                }
            }
            (TraceEvent::Retry, _) => {
                let Some(place) = self.last_try(record.station) else { return };
                let number = self.log.frames[place].number;
                let retried = &mut self.stations[record.station].retried;
                retried.retain(|&(other, _)| other != number);
                retried.insert(0, (number, record.value));
                retried.truncate(QUEUES);
            }
            (TraceEvent::DropRts | TraceEvent::DropData, _) => {
                if let Some(place) = self.last_try(record.station) {
                    self.annotations[place].given_up = true;
                }
            }
            _ => {}
        }
    }

    fn decode(&mut self, record: &TraceRecord, peer: StationId) {
        let station = &mut self.stations[record.station];
        let further = std::mem::take(&mut station.decoded_further);
        let survived = station.reception.take().map(|reception| reception.survived).unwrap_or_default();
        let Some(place) = self.ended_before(peer, record.at) else { return };
        if self.log.frames[place].aggregate.is_some() {
            self.decode_aggregate(record, place, &further);
            return;
        }
        let frame = &self.log.frames[place];
        self.annotations[place].arrived |= frame.to == Some(record.station);
        let comment =
            if survived.is_empty() { String::new() } else { format!("captured over {}", self.names(&survived)) };
        self.stations[record.station].last_decoded = Some(self.observations.len());
        self.observations.push(Observation {
            at: record.at - frame.airtime_ns,
            station: record.station,
            frame: place,
            kind: ObservationKind::Decoded,
            comment,
        });
    }

    /// Handles the reception of an aggregate, of which `last` is the last MPDU: some MPDUs may be lost.
    fn decode_aggregate(&mut self, record: &TraceRecord, last: usize, further: &[u64]) {
        let whole = self.transmission(last);
        let first = *whole.start();
        for place in whole {
            let frame = &self.log.frames[place];
            let for_this = frame.to == Some(record.station);
            let (word, bit) = ((place - first) / 64, (place - first) % 64);
            let decoded = if word == 0 { record.value } else { further.get(word - 1).copied().unwrap_or(0) };
            if decoded >> bit & 1 == 0 {
                if for_this {
                    self.annotations[place].lost.get_or_insert_with(|| "hit in the aggregate".into());
                }
                continue;
            }
            self.annotations[place].arrived |= for_this;
            self.observations.push(Observation {
                at: record.at - frame.airtime_ns,
                station: record.station,
                frame: place,
                kind: ObservationKind::Decoded,
                comment: String::new(),
            });
        }
    }

    /// Handles a failed reception: every frame in it is lost at this station.
    fn garble(&mut self, record: &TraceRecord, garbled: bool) {
        let Some(reception) = self.stations[record.station].reception.take() else { return };
        for &(peer, at) in &reception.involved {
            let others = reception.involved.iter().map(|&(other, _)| other).filter(|&other| other != peer);
            let mut others: Vec<StationId> = others.collect();
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
            let Some(last) = self.begun_before(peer, at).filter(|_| garbled) else { continue };
            for frame in self.transmission(last) {
                self.observations.push(Observation {
                    at,
                    station: record.station,
                    frame,
                    kind: ObservationKind::Garbled,
                    comment: what.clone(),
                });
            }
        }
    }

    /// Records why the frame of `peer` in progress at `record.at` was lost, if it was for that station.
    fn lose(&mut self, record: &TraceRecord, peer: StationId, why: String) {
        let Some(place) = self.begun_before(peer, record.at) else { return };
        for place in self.transmission(place) {
            if self.log.frames[place].to == Some(record.station) && self.annotations[place].lost.is_none() {
                self.annotations[place].lost = Some(why.clone());
            }
        }
    }

    /// The frames that were sent as one with the frame at `last`: all MPDUs of an aggregate.
    fn transmission(&self, last: usize) -> RangeInclusive<usize> {
        let of = |place: usize| (self.log.frames[place].station, self.log.frames[place].at);
        if self.log.frames[last].aggregate.is_none() {
            return last..=last;
        }
        (0..=last).rev().take_while(|&place| of(place) == of(last)).last().unwrap_or(last)..=last
    }

    /// Adds a note to the last frame of `peer` that ended before `at`, if it is one of `kinds`.
    fn remark(&mut self, peer: StationId, at: Ns, kinds: &[Kind], what: String) {
        let Some(place) = self.ended_before(peer, at) else { return };
        if kinds.contains(&self.log.frames[place].kind) {
            self.annotations[place].notes.push(what);
        }
    }

    /// The last frame of `station` that had begun at `at`.
    fn begun_before(&self, station: StationId, at: Ns) -> Option<usize> {
        let mut frames = self.stations[station].frames.iter().rev().copied();
        frames.find(|&place| self.log.frames[place].at <= at)
    }

    /// The last frame of `station` that had ended at `at`.
    fn ended_before(&self, station: StationId, at: Ns) -> Option<usize> {
        let frames = self.stations[station].frames.iter().rev().copied();
        frames.take(RECENT_FRAMES).find(|&place| self.log.frames[place].at + self.log.frames[place].airtime_ns <= at)
    }

    /// The last RTS or data frame of `station`.
    fn last_try(&self, station: StationId) -> Option<usize> {
        let mut frames = self.stations[station].frames.iter().rev().copied();
        frames.find(|&place| matches!(self.log.frames[place].kind, Kind::Rts | Kind::Data | Kind::Aggregate))
    }

    /// Adds the notes to the comments of the sent frames.
    fn conclude(&mut self) {
        for place in 0..self.log.frames.len() {
            let frame = &self.log.frames[place];
            let over = frame.at + frame.airtime_ns < self.log.end;
            if let (Some(to), false, true) = (frame.to, self.annotations[place].arrived, over) {
                let why = self.annotations[place].lost.take().or_else(|| self.was_sending(to, place));
                let why = why.map_or_else(String::new, |why| format!(": {why}"));
                let note = format!("lost at {}{why}", self.name(to));
                self.annotations[place].notes.push(note);
            }
            if self.annotations[place].given_up {
                self.annotations[place].notes.push("packet dropped after this attempt".into());
            }
        }
        for seen in self.observations.iter_mut().filter(|seen| seen.kind == ObservationKind::Sent) {
            for note in &self.annotations[seen.frame].notes {
                append(&mut seen.comment, note);
            }
        }
    }

    fn was_sending(&self, station: StationId, place: usize) -> Option<String> {
        let frame = &self.log.frames[place];
        let own = &self.stations[station].frames;
        let after = own.partition_point(|&other| self.log.frames[other].at < frame.at + frame.airtime_ns);
        let last = own[..after].last().map(|&other| &self.log.frames[other])?;
        (last.at + last.airtime_ns > frame.at).then(|| format!("{} was sending", self.name(station)))
    }

    fn name(&self, station: StationId) -> &str {
        &self.log.names[self.log.node_of[station]]
    }

    fn names(&self, stations: &[StationId]) -> String {
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
    use pacelab_engine::{InAggregate, MpduSet, SentFrame};
    use pacelab_network::ids::{NodeId, PacketId};

    use super::*;

    /// n0 and n2 cannot hear each other, n1 hears both, 1 us away.
    fn log(frames: Vec<SentFrame>, records: Vec<(Ns, u32, TraceEvent, Option<u32>, u64)>) -> AirLog {
        let records = records
            .into_iter()
            .map(|(at, station, what, peer, value)| TraceRecord {
                at,
                station: StationId(station),
                what,
                peer: peer.map(StationId),
                value,
            })
            .collect();
        let names = ["n0", "n1", "n2"].map(String::from).to_vec().into();
        AirLog {
            names,
            node_of: [0, 1, 2].map(NodeId).to_vec().into(),
            records,
            frames,
            end: 10_000_000,
            ..AirLog::default()
        }
    }

    fn sent(at: Ns, station: u32, to: u32, kind: Kind, airtime_ns: Ns) -> SentFrame {
        SentFrame {
            at,
            station: StationId(station),
            to: Some(StationId(to)),
            kind,
            airtime_ns,
            duration_ns: 0,
            rate_bps: 1_000_000,
            packet: PacketId(0),
            number: 1,
            aggregate: None,
            bitmap: MpduSet::default(),
        }
    }

    fn lines(annotated: &FrameAnnotations) -> Vec<(Ns, u32, ObservationKind, &str)> {
        annotated.observations.iter().map(|seen| (seen.at, seen.station.0, seen.kind, seen.comment.as_str())).collect()
    }

    #[test]
    fn two_hidden_senders_collide_and_one_tries_again() {
        let frames = vec![
            sent(0, 0, 1, Kind::Data, 1_000_000),
            sent(500_000, 2, 1, Kind::Data, 1_000_000),
            sent(3_000_000, 0, 1, Kind::Data, 1_000_000),
        ];
        let records = vec![
            (1_000, 1, TraceEvent::Lock, Some(0), 1_001_000),
            (501_000, 1, TraceEvent::Collide, Some(2), 0),
            (1_501_000, 1, TraceEvent::Garbled, Some(2), 0),
            (1_600_000, 0, TraceEvent::Retry, Some(1), 1),
            (3_001_000, 1, TraceEvent::Lock, Some(0), 4_001_000),
            (4_001_000, 1, TraceEvent::Decode, Some(0), 0),
        ];
        let log = log(frames, records);
        let annotated = annotate(&log, true);
        assert_eq!(
            lines(&annotated),
            [
                (0, 0, ObservationKind::Sent, "lost at n1: collided with n2"),
                (1_000, 1, ObservationKind::Garbled, "collided with n2"),
                (500_000, 2, ObservationKind::Sent, "lost at n1: collided with n0"),
                (501_000, 1, ObservationKind::Garbled, "collided with n0"),
                (3_000_000, 0, ObservationKind::Sent, "retry 1"),
                (3_001_000, 1, ObservationKind::Decoded, ""),
            ]
        );
        assert_eq!(
            annotated.annotations.iter().map(|annotation| annotation.retry).collect::<Vec<_>>(),
            [false, false, true]
        );
        assert_eq!(annotate(&log, false).observations.len(), 4, "garbled frames only when asked for");
    }

    #[test]
    fn a_captured_frame_names_what_it_survived_and_the_loser_who_was_heard() {
        let frames = vec![sent(0, 0, 1, Kind::Rts, 352_000), sent(100_000, 2, 1, Kind::Rts, 352_000)];
        let records = vec![
            (1_000, 1, TraceEvent::Lock, Some(0), 353_000),
            (101_000, 1, TraceEvent::Capture, Some(2), 0),
            (353_000, 1, TraceEvent::Decode, Some(0), 0),
        ];
        let annotated = annotate(&log(frames, records), false);
        assert_eq!(
            lines(&annotated),
            [
                (0, 0, ObservationKind::Sent, ""),
                (1_000, 1, ObservationKind::Decoded, "captured over n2"),
                (100_000, 2, ObservationKind::Sent, "lost at n1: n1 held on to n0"),
            ]
        );
    }

    #[test]
    fn an_rts_that_is_refused_and_the_last_one_say_so() {
        let frames = vec![sent(0, 0, 1, Kind::Rts, 352_000), sent(2_000_000, 0, 1, Kind::Rts, 352_000)];
        let records = vec![
            (1_000, 1, TraceEvent::Lock, Some(0), 353_000),
            (353_000, 1, TraceEvent::Decode, Some(0), 0),
            (363_000, 1, TraceEvent::RefuseCts, Some(0), 0),
            (700_000, 0, TraceEvent::Retry, Some(1), 6),
            (2_700_000, 0, TraceEvent::DropRts, Some(1), 0),
        ];
        let log = log(frames, records);
        let annotated = annotate(&log, false);
        assert_eq!(annotated.observations[0].comment, "n1 did not answer: the medium was busy there");
        assert_eq!(annotated.observations[2].comment, "retry 6; lost at n1; packet dropped after this attempt");
        assert!(annotated.annotations[1].given_up);
    }

    /// Three MPDUs of one aggregate of 608 us.
    fn aggregate(at: Ns, station: u32) -> Vec<SentFrame> {
        let mpdu = |number| SentFrame {
            number,
            aggregate: Some(InAggregate { reference: 1, last: number == 2 }),
            ..sent(at, station, 1, Kind::Aggregate, 608_000)
        };
        (0..3).map(mpdu).collect()
    }

    #[test]
    fn each_mpdu_of_an_aggregate_has_its_own_fate() {
        // the second is hit, and sent again alone
        let mut frames = aggregate(0, 0);
        frames.push(SentFrame { number: 1, ..sent(2_000_000, 0, 1, Kind::Data, 228_000) });
        let records = vec![
            (1_000, 1, TraceEvent::Lock, Some(0), 609_000),
            (609_000, 1, TraceEvent::Decode, Some(0), 0b101),
            (2_001_000, 1, TraceEvent::Lock, Some(0), 2_229_000),
            (2_229_000, 1, TraceEvent::Decode, Some(0), 0),
        ];
        let annotated = annotate(&log(frames, records), true);
        assert_eq!(
            lines(&annotated),
            [
                (0, 0, ObservationKind::Sent, ""),
                (0, 0, ObservationKind::Sent, "lost at n1: hit in the aggregate"),
                (0, 0, ObservationKind::Sent, ""),
                (1_000, 1, ObservationKind::Decoded, ""),
                (1_000, 1, ObservationKind::Decoded, ""),
                (2_000_000, 0, ObservationKind::Sent, ""),
                (2_001_000, 1, ObservationKind::Decoded, ""),
            ]
        );
        let retries: Vec<bool> = annotated.annotations.iter().map(|annotation| annotation.retry).collect();
        assert_eq!(retries, [false, false, false, true]);
    }

    #[test]
    fn a_collision_in_the_preamble_loses_all_mpdus() {
        let mut frames = aggregate(0, 0);
        frames.push(sent(10_000, 2, 1, Kind::Data, 100_000));
        let records = vec![
            (1_000, 1, TraceEvent::Lock, Some(0), 609_000),
            (11_000, 1, TraceEvent::Collide, Some(2), 0),
            (609_000, 1, TraceEvent::Garbled, Some(0), 0),
        ];
        let annotated = annotate(&log(frames, records), false);
        let comments: Vec<&str> = annotated.observations.iter().map(|seen| seen.comment.as_str()).collect();
        let hit = "lost at n1: collided with n2";
        assert_eq!(comments, [hit, hit, hit, "lost at n1: collided with n0"]);
    }
}
