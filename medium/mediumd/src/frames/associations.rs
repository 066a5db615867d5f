//! Detects that a station cannot associate because the machine is late: an answer of the access point arrives after the
//! station has stopped waiting, and would have arrived in time if only the air had delayed it.

use pacelab_engine::{IdVec, Ns, StationId};

/// How long Linux listens to a channel after a probe request (IEEE80211_CHANNEL_TIME, net/mac80211/scan.c).
const SCAN_NS: Ns = 30_000_000;
/// How long Linux waits for the answer to an authentication or association request that was acknowledged
/// (IEEE80211_AUTH_TIMEOUT_SHORT, IEEE80211_ASSOC_TIMEOUT_SHORT, net/mac80211/mlme.c).
const ANSWER_NS: Ns = 100_000_000;
/// A station that has not associated this long after a late answer is reported.
const PATIENCE_NS: Ns = 5_000_000_000;

// Subtypes of management frames. Source: IEEE 802.11-2020 Table 9-1.
const ASSOCIATION_REQUEST: u8 = 0;
const ASSOCIATION_RESPONSE: u8 = 1;
const REASSOCIATION_REQUEST: u8 = 2;
const REASSOCIATION_RESPONSE: u8 = 3;
const PROBE_REQUEST: u8 = 4;
const PROBE_RESPONSE: u8 = 5;
const DISASSOCIATION: u8 = 10;
const AUTHENTICATION: u8 = 11;
const DEAUTHENTICATION: u8 = 12;

/// Times of a frame on its way.
#[derive(Clone, Copy, Debug)]
pub struct Transit {
    /// When its host sent it.
    pub sent_at: Ns,
    /// When it arrived on the air.
    pub due: Ns,
    /// How much later the machine delivered it.
    pub late: Ns,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    subtype: u8,
    sent_at: Ns,
    /// Time of the request on the air, until it reached its first receiver.
    air_ns: Option<Ns>,
}

#[derive(Clone, Copy, Debug)]
struct LateAnswer {
    at: Ns,
    subtype: u8,
    took_ns: Ns,
    air_ns: Ns,
}

#[derive(Clone, Copy, Debug, Default)]
struct Station {
    request: Option<Request>,
    late: Option<LateAnswer>,
    associated: bool,
    reported: bool,
}

/// The associations of all stations.
#[derive(Debug)]
pub struct Associations {
    stations: IdVec<StationId, Station>,
}

impl Associations {
    /// None of `count` stations is associated.
    pub fn new(count: usize) -> Self {
        Associations { stations: IdVec::filled(Station::default(), count) }
    }

    /// Notes a frame that the host of `station` sends.
    pub fn sent(&mut self, station: StationId, frame: &[u8], now: Ns) {
        let Some(subtype) = management(frame) else { return };
        let station = &mut self.stations[station];
        match subtype {
            AUTHENTICATION if transaction(frame).is_some_and(|number| number % 2 == 0) => {} // an answer
            PROBE_REQUEST | AUTHENTICATION | ASSOCIATION_REQUEST | REASSOCIATION_REQUEST => {
                station.request = Some(Request { subtype, sent_at: now, air_ns: None });
            }
            DISASSOCIATION | DEAUTHENTICATION => station.associated = false,
            _ => {}
        }
    }

    /// Notes a frame from `from` that `station` received.
    pub fn delivered(&mut self, from: Option<StationId>, station: StationId, frame: &[u8], transit: Transit) {
        let Some(subtype) = management(frame) else { return };
        let air_ns = transit.due - transit.sent_at;
        let request = from.and_then(|from| self.stations[from].request.as_mut());
        let is_this = |request: &&mut Request| request.subtype == subtype && request.sent_at == transit.sent_at;
        if let Some(request) = request.filter(is_this) {
            request.air_ns.get_or_insert(air_ns);
        }
        let station = &mut self.stations[station];
        match subtype {
            PROBE_RESPONSE => station.answered(PROBE_REQUEST, SCAN_NS, transit, air_ns),
            AUTHENTICATION if transaction(frame) == Some(1) => {} // a request
            AUTHENTICATION => station.answered(AUTHENTICATION, ANSWER_NS, transit, air_ns),
            ASSOCIATION_RESPONSE => station.answered(ASSOCIATION_REQUEST, ANSWER_NS, transit, air_ns),
            REASSOCIATION_RESPONSE => station.answered(REASSOCIATION_REQUEST, ANSWER_NS, transit, air_ns),
            DISASSOCIATION | DEAUTHENTICATION => station.associated = false,
            _ => {}
        }
    }

    /// The stations that could not associate because the machine was late, with the reason. Each is reported once.
    pub fn failures(&mut self, now: Ns) -> Vec<(StationId, String)> {
        let mut failures = Vec::new();
        for id in self.stations.ids() {
            let station = &mut self.stations[id];
            let Some(late) = station.late.filter(|late| now >= late.at + PATIENCE_NS) else { continue };
            station.late = None;
            if !station.associated && !station.reported {
                station.reported = true;
                failures.push((id, late.describe()));
            }
        }
        failures
    }
}

impl Station {
    fn answered(&mut self, to: u8, limit_ns: Ns, transit: Transit, air_ns: Ns) {
        let Some(request) = self.request.filter(|request| request.subtype == to) else { return };
        let air_ns = air_ns + request.air_ns.unwrap_or(0);
        let took_ns = (transit.due + transit.late).saturating_sub(request.sent_at);
        if took_ns <= limit_ns {
            let associates = matches!(to, ASSOCIATION_REQUEST | REASSOCIATION_REQUEST);
            self.associated |= associates;
            if associates {
                self.late = None;
            }
        } else if air_ns <= limit_ns && self.late.is_none() {
            self.late = Some(LateAnswer { at: transit.due + transit.late, subtype: to, took_ns, air_ns });
        }
    }
}

impl LateAnswer {
    fn describe(&self) -> String {
        let (what, limit_ns) = match self.subtype {
            PROBE_REQUEST => ("scan", SCAN_NS),
            AUTHENTICATION => ("authentication", ANSWER_NS),
            _ => ("association", ANSWER_NS),
        };
        let ms = |ns: Ns| ns as f64 / 1e6;
        format!(
            "cannot associate, because this machine is too slow or too busy: the answer to its {what} arrived after {:.0} ms, \
             of which the air took {:.0} ms, and Linux waits {:.0} ms",
            ms(self.took_ns),
            ms(self.air_ns),
            ms(limit_ns)
        )
    }
}

/// The transaction sequence number of an authentication: 1 for the request, 2 for the answer. Both parties of SAE send 1.
/// Source: IEEE 802.11-2020 Sec. 9.4.1.2.
fn transaction(frame: &[u8]) -> Option<u16> {
    Some(u16::from_le_bytes(frame.get(26..28)?.try_into().ok()?))
}

/// The subtype of a management frame.
fn management(frame: &[u8]) -> Option<u8> {
    let control = *frame.first()?;
    (control >> 2 & 3 == 0).then_some(control >> 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ns = 1_000_000;
    const ACCESS_POINT: StationId = StationId(0);
    const STATION: StationId = StationId(1);

    /// A request of the station at `at` and its answer, each 1 ms on the air; the answer reaches the station after
    /// `took_ns`, which includes `answer_air_ns` on the air.
    fn exchange(seen: &mut Associations, at: Ns, request: u8, answer: u8, took_ns: Ns, answer_air_ns: Ns) {
        seen.sent(STATION, &[request << 4], at);
        let transit = Transit { sent_at: at, due: at + MS, late: 0 };
        seen.delivered(Some(STATION), ACCESS_POINT, &[request << 4], transit);
        let due = at + took_ns;
        let transit = Transit { sent_at: due - answer_air_ns, due, late: 0 };
        seen.delivered(Some(ACCESS_POINT), STATION, &[answer << 4], transit);
    }

    #[test]
    fn a_late_answer_to_a_scan_is_told_once_after_five_seconds() {
        let mut seen = Associations::new(2);
        exchange(&mut seen, 10 * MS, PROBE_REQUEST, PROBE_RESPONSE, 45 * MS, 2 * MS);
        assert_eq!(seen.failures(5_000 * MS), []);
        let told = seen.failures(5_055 * MS);
        let reason = "cannot associate, because this machine is too slow or too busy: the answer to its scan arrived \
                      after 45 ms, of which the air took 3 ms, and Linux waits 30 ms";
        assert_eq!(told, [(STATION, reason.to_owned())]);
        exchange(&mut seen, 6_000 * MS, PROBE_REQUEST, PROBE_RESPONSE, 45 * MS, 2 * MS);
        assert_eq!(seen.failures(20_000 * MS), []);
    }

    #[test]
    fn a_station_that_associates_or_a_slow_air_is_not_reported() {
        let mut seen = Associations::new(2);
        exchange(&mut seen, 10 * MS, PROBE_REQUEST, PROBE_RESPONSE, 45 * MS, 2 * MS);
        exchange(&mut seen, 100 * MS, ASSOCIATION_REQUEST, ASSOCIATION_RESPONSE, 5 * MS, MS);
        assert_eq!(seen.failures(20_000 * MS), []);
        // An associated station that scans for another access point keeps its own.
        exchange(&mut seen, 30_000 * MS, PROBE_REQUEST, PROBE_RESPONSE, 45 * MS, 2 * MS);
        assert_eq!(seen.failures(40_000 * MS), []);
        let mut seen = Associations::new(2);
        exchange(&mut seen, 10 * MS, PROBE_REQUEST, PROBE_RESPONSE, 45 * MS, 40 * MS);
        assert_eq!(seen.failures(20_000 * MS), []);
    }

    #[test]
    fn a_second_station_is_no_late_answer_to_an_access_point() {
        let authentication = |number: u8| {
            let mut frame = [0; 30];
            (frame[0], frame[26]) = (AUTHENTICATION << 4, number);
            frame
        };
        let mut seen = Associations::new(3);
        for (station, at) in [(STATION, 10 * MS), (StationId(2), 25_000 * MS)] {
            seen.sent(station, &authentication(1), at);
            let transit = Transit { sent_at: at, due: at + MS, late: 0 };
            seen.delivered(Some(station), ACCESS_POINT, &authentication(1), transit);
            seen.sent(ACCESS_POINT, &authentication(2), at + MS);
            let transit = Transit { sent_at: at + MS, due: at + 2 * MS, late: 0 };
            seen.delivered(Some(ACCESS_POINT), station, &authentication(2), transit);
        }
        assert_eq!(seen.failures(60_000 * MS), []);
    }

    #[test]
    fn an_answer_to_an_association_has_more_time() {
        for (took_ns, told) in [(99 * MS, 0), (101 * MS, 1)] {
            let mut seen = Associations::new(2);
            exchange(&mut seen, 10 * MS, AUTHENTICATION, AUTHENTICATION, took_ns, MS);
            assert_eq!(seen.failures(20_000 * MS).len(), told, "{took_ns}");
        }
    }
}
