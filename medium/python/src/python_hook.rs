//! A Python algorithm as a hook: events become tuples of the contract, and actions are recognised by their class.

use std::cell::RefCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use pacelab_network::hook::{Action, Event, Hook, Rtp, SOURCE_LIMIT_PKTS, Segment, mask};
use pacelab_network::ids::PacketId;
use pacelab_network::packet::{Sack, TcpHeader, VoiceQuality};
use pyo3::exceptions::{PyException, PySystemExit};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple, PyType};

use crate::call::call2;
use crate::named_tuple::NamedTuple;

/// The classes of `pacelab_pacer.core.contract` and `.segment`, looked up once.
pub struct Contract {
    segment: NamedTuple,
    flow_key: Py<PyType>,
    rtp: Py<PyType>,
    quality: Py<PyType>,
    points: [Py<PyAny>; 5],
    seen: NamedTuple,
    transmit: NamedTuple,
    forward: Py<PyType>,
    drop: Py<PyType>,
    resend: Py<PyType>,
    release: Py<PyType>,
    rewrite: Py<PyType>,
    inject: Py<PyType>,
    extra_backoff: Py<PyType>,
    /// The empty tuple, of which Python has only one.
    nothing: Py<PyTuple>,
    /// An exception in a hook that must end the run: KeyboardInterrupt.
    pub interrupt: RefCell<Option<PyErr>>,
}

impl Contract {
    /// Imports the contract.
    pub fn load(py: Python<'_>) -> PyResult<Rc<Self>> {
        let contract = py.import("pacelab_pacer.core.contract")?;
        let segments = py.import("pacelab_pacer.core.segment")?;
        let class = |module: &Bound<'_, PyModule>, name: &str| -> PyResult<Py<PyType>> {
            Ok(module.getattr(name)?.cast_into::<PyType>()?.unbind())
        };
        let point = contract.getattr("Point")?;
        let points =
            [point.call1((0,))?, point.call1((1,))?, point.call1((2,))?, point.call1((3,))?, point.call1((4,))?];
        Ok(Rc::new(Contract {
            segment: NamedTuple::new(&segments.getattr("Segment")?)?,
            flow_key: class(&segments, "FlowKey")?,
            rtp: class(&segments, "Rtp")?,
            quality: class(&segments, "VoiceQuality")?,
            points: points.map(Bound::unbind),
            seen: NamedTuple::new(&contract.getattr("SegmentSeen")?)?,
            transmit: NamedTuple::new(&contract.getattr("TransmitResult")?)?,
            forward: class(&contract, "Forward")?,
            drop: class(&contract, "Drop")?,
            resend: class(&contract, "Resend")?,
            release: class(&contract, "Release")?,
            rewrite: class(&contract, "Rewrite")?,
            inject: class(&contract, "Inject")?,
            extra_backoff: class(&contract, "SetExtraBackoff")?,
            nothing: PyTuple::empty(py).unbind(),
            interrupt: RefCell::new(None),
        }))
    }
}

/// Most actions and callbacks at one time. More count as an endless loop.
const MOST_AT_ONCE: u32 = 100_000;

/// Places for segments whose transmission will be reported.
const SEGMENTS: usize = 64;

fn place_of(segment: &Segment) -> usize {
    segment.handle.0 as usize % SEGMENTS
}

/// The Python objects that all segments of one flow and direction share. They are made once.
struct FlowObjects {
    key: Py<PyAny>,
    payload_bytes: Repeated,
    packet_bytes: Repeated,
    window_bytes: Repeated,
}

/// A number that is usually the same as the last time.
#[derive(Default)]
struct Repeated(Option<(u32, Py<PyAny>)>);

impl Repeated {
    fn object<'py>(&mut self, py: Python<'py>, value: u32) -> PyResult<Bound<'py, PyAny>> {
        match &self.0 {
            Some((last, object)) if *last == value => Ok(object.bind(py).clone()),
            _ => {
                let object = value.into_pyobject(py)?.into_any();
                self.0 = Some((value, object.clone().unbind()));
                Ok(object)
            }
        }
    }
}

/// A Python object that follows the contract.
pub struct PythonHook {
    contract: Rc<Contract>,
    object: Py<PyAny>,
    handle: Py<PyAny>,
    poll: Py<PyAny>,
    deadline: Py<PyAny>,
    timeout: Py<PyAny>,
    /// The object's `react`, if it has one. Its last result is in the next two fields.
    react: Option<Py<PyAny>>,
    actions: VecDeque<Action>,
    wanted_at: Option<u64>,
    event_mask: u32,
    source_limit_pkts: u32,
    failure: Option<String>,
    /// The time of the last call into the hook, and the number of actions and callbacks at that time.
    called_at: u64,
    requests: u32,
    flows: BTreeMap<(u32, u32, u32, u32), FlowObjects>,
    /// Segments that the hook has seen, each in the place of its handle. The report of a transmission has the same object.
    /// Without places for a hook that gets no such reports.
    segments: Vec<Option<(Segment, Py<PyAny>)>>,
    /// Path tuples are few and immutable: made once.
    paths: BTreeMap<Vec<u32>, Py<PyAny>>,
}

impl PythonHook {
    /// Takes the object's methods.
    pub fn new(_py: Python<'_>, contract: &Rc<Contract>, object: Bound<'_, PyAny>) -> PyResult<Self> {
        let event_mask = object.getattr("event_mask")?.extract()?;
        let places = if event_mask & mask::TRANSMIT == 0 { 0 } else { SEGMENTS };
        Ok(PythonHook {
            contract: Rc::clone(contract),
            handle: object.getattr("handle")?.unbind(),
            poll: object.getattr("poll_action")?.unbind(),
            deadline: object.getattr("deadline")?.unbind(),
            timeout: object.getattr("handle_timeout")?.unbind(),
            react: object.getattr_opt("react")?.map(Bound::unbind),
            actions: VecDeque::new(),
            wanted_at: None,
            event_mask,
            source_limit_pkts: match object.getattr_opt("source_limit_pkts")? {
                Some(limit) => limit.extract()?,
                None => SOURCE_LIMIT_PKTS,
            },
            object: object.unbind(),
            failure: None,
            called_at: 0,
            requests: 0,
            flows: BTreeMap::new(),
            segments: (0..places).map(|_| None).collect(),
            paths: BTreeMap::new(),
        })
    }

    /// Runs a call into Python; an exception breaks the hook for good.
    fn guarded<T>(&mut self, fallback: T, call: impl FnOnce(&mut Self, Python<'_>) -> PyResult<T>) -> T {
        if self.failure.is_some() {
            return fallback;
        }
        Python::attach(|py| {
            call(self, py).unwrap_or_else(|error| {
                self.failure = Some(error.to_string());
                if !(error.is_instance_of::<PyException>(py) || error.is_instance_of::<PySystemExit>(py)) {
                    self.contract.interrupt.replace(Some(error));
                }
                fallback
            })
        })
    }

    /// Notes the time of a call into the hook.
    fn note_time(&mut self, now: u64) {
        if now > self.called_at {
            (self.called_at, self.requests) = (now, 0);
        }
    }

    /// Counts actions and callbacks at one time. An endless loop of them would stop virtual time.
    fn count_request(&mut self, what: &str) -> PyResult<()> {
        self.requests += 1;
        if self.requests > MOST_AT_ONCE {
            let message = format!("{what} ({MOST_AT_ONCE} times at {} s)", self.called_at as f64 / 1e9);
            return Err(pyo3::exceptions::PyRuntimeError::new_err(message));
        }
        Ok(())
    }

    fn flow(&mut self, py: Python<'_>, flow: (u32, u32, u32, u32)) -> PyResult<&mut FlowObjects> {
        match self.flows.entry(flow) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => Ok(entry.insert(FlowObjects {
                key: self.contract.flow_key.bind(py).call1(flow)?.unbind(),
                payload_bytes: Repeated::default(),
                packet_bytes: Repeated::default(),
                window_bytes: Repeated::default(),
            })),
        }
    }

    /// The segment of a packet that the hook sees.
    fn seen_segment<'py>(&mut self, py: Python<'py>, segment: &Segment) -> PyResult<Bound<'py, PyAny>> {
        let object = self.segment(py, segment)?;
        if let Some(place) = self.segments.get_mut(place_of(segment)) {
            *place = Some((segment.clone(), object.clone().unbind()));
        }
        Ok(object)
    }

    /// The segment of a packet that was sent: the one that the hook saw, unless the packet was changed since.
    fn sent_segment<'py>(&mut self, py: Python<'py>, segment: &Segment) -> PyResult<Bound<'py, PyAny>> {
        match self.segments.get_mut(place_of(segment)).and_then(Option::take) {
            Some((seen, object)) if seen == *segment => Ok(object.into_bound(py)),
            _ => self.segment(py, segment),
        }
    }

    fn segment<'py>(&mut self, py: Python<'py>, segment: &Segment) -> PyResult<Bound<'py, PyAny>> {
        let (protocol, header) = segment.tcp.map_or((17, TcpHeader::default()), |header| (6, header));
        let rtp = match segment.rtp {
            Some(Rtp { sequence, sent_ns }) => self.contract.rtp.bind(py).call1((sequence, sent_ns))?,
            None => py.None().into_bound(py),
        };
        let quality = match segment.quality.as_deref() {
            Some(&quality) => {
                let call = self.flow(py, quality.call)?.key.clone_ref(py);
                let VoiceQuality { window_ns, expected, lost, late, delay_ns, .. } = quality;
                self.contract.quality.bind(py).call1((call, window_ns, expected, lost, late, delay_ns))?
            }
            None => py.None().into_bound(py),
        };
        let number = |value: u32| value.into_pyobject(py).map(Bound::into_any);
        let flow = self.flow(py, segment.flow)?;
        let fields = [
            number(segment.handle.0)?,
            flow.key.bind(py).clone(),
            number(protocol)?,
            number(header.flags.into())?,
            number(header.seq)?,
            number(header.ack)?,
            flow.payload_bytes.object(py, segment.payload_bytes)?,
            flow.packet_bytes.object(py, segment.packet_bytes)?,
            flow.window_bytes.object(py, header.window_bytes)?,
            header.rtt_wired_ns.into_pyobject(py)?,
            segment.ecn_capable.into_pyobject(py)?.to_owned().into_any(),
            rtp,
            quality,
        ];
        self.contract.segment.make(py, fields)
    }

    fn path<'py>(&mut self, py: Python<'py>, rates_bps: &[u32]) -> PyResult<Bound<'py, PyAny>> {
        if let Some(path) = self.paths.get(rates_bps) {
            return Ok(path.bind(py).clone());
        }
        let path = PyTuple::new(py, rates_bps)?.into_any();
        self.paths.insert(rates_bps.to_vec(), path.clone().unbind());
        Ok(path)
    }

    /// Reads the result of `react`: all actions, and the next deadline.
    fn take(&mut self, py: Python<'_>, reaction: &Bound<'_, PyAny>) -> PyResult<()> {
        if reaction.is(&self.contract.nothing) {
            self.wanted_at = Some(u64::MAX);
            return Ok(());
        }
        let (actions, at): (Bound<'_, PyList>, Option<u64>) = reaction.extract()?;
        for object in actions {
            self.count_request(
                "react() returns actions without an end: an action must not cause the same action again at once",
            )?;
            let action = self.action(py, &object)?;
            self.actions.push_back(action);
        }
        self.wanted_at = Some(at.unwrap_or(u64::MAX));
        Ok(())
    }

    /// Converts an object to an action. Raises TypeError with the object if a field has an invalid type.
    fn action(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Action> {
        self.read_action(py, object).map_err(|error| {
            let shown = object.repr().map_or_else(|_| "an action".into(), |shown| shown.to_string());
            pyo3::exceptions::PyTypeError::new_err(format!("{shown}: {}", error.value(py)))
        })
    }

    fn read_action(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Action> {
        let contract = &self.contract;
        if let Ok(handle) = object.cast_exact::<PyInt>() {
            return Ok(Action::Forward { handle: PacketId(handle.extract()?), keep: false });
        }
        let kind = object.get_type();
        let is = |class: &Py<PyType>| kind.is(class.bind(py));
        if is(&contract.forward) {
            let (handle, keep) = object.extract()?;
            Ok(Action::Forward { handle: PacketId(handle), keep })
        } else if is(&contract.rewrite) {
            let (handle, window_bytes, rtt_wired_ns, mark): (u32, _, _, Option<bool>) = object.extract()?;
            Ok(Action::Rewrite { handle: PacketId(handle), window_bytes, rtt_wired_ns, mark: mark == Some(true) })
        } else if is(&contract.drop) {
            let (handle, reason) = object.extract()?;
            Ok(Action::Drop { handle: PacketId(handle), reason })
        } else if is(&contract.resend) {
            Ok(Action::Resend { handle: PacketId(object.get_item(0)?.extract()?) })
        } else if is(&contract.release) {
            Ok(Action::Release { handle: PacketId(object.get_item(0)?.extract()?) })
        } else if is(&contract.extra_backoff) {
            let (slots, wall_clock) = object.extract()?;
            Ok(Action::SetExtraBackoff { slots, wall_clock })
        } else if is(&contract.inject) {
            Ok(Action::Inject { segment: Box::new(read_segment(&object.get_item(0)?)?) })
        } else {
            Err(pyo3::exceptions::PyTypeError::new_err("not an action of the contract"))
        }
    }
}

/// The fields of a `VoiceQuality`.
type Quality = ((u32, u32, u32, u32), u64, u32, u32, u32, u64);

fn read_segment(object: &Bound<'_, PyAny>) -> PyResult<Segment> {
    let tcp = object.get_item(2)?.extract::<u32>()? == 6;
    let header = TcpHeader {
        flags: object.get_item(3)?.extract()?,
        seq: object.get_item(4)?.extract()?,
        ack: object.get_item(5)?.extract()?,
        payload_bytes: object.get_item(6)?.extract()?,
        window_bytes: object.get_item(8)?.extract()?,
        rtt_wired_ns: object.get_item(9)?.extract()?,
        sack: Sack::default(),
    };
    let rtp: Option<(u16, u64)> = object.get_item(11)?.extract()?;
    let quality: Option<Quality> = object.get_item(12)?.extract()?;
    Ok(Segment {
        handle: PacketId(object.get_item(0)?.extract()?),
        flow: object.get_item(1)?.extract()?,
        tcp: tcp.then_some(header),
        payload_bytes: header.payload_bytes,
        packet_bytes: object.get_item(7)?.extract()?,
        ecn_capable: object.get_item(10)?.extract()?,
        rtp: rtp.map(|(sequence, sent_ns)| Rtp { sequence, sent_ns }),
        quality: quality.map(|(call, window_ns, expected, lost, late, delay_ns)| {
            Box::new(VoiceQuality { call, window_ns, expected, lost, late, delay_ns })
        }),
    })
}

impl Hook for PythonHook {
    fn event_mask(&self) -> u32 {
        self.event_mask
    }

    fn source_limit_pkts(&self) -> u32 {
        self.source_limit_pkts
    }

    fn handle(&mut self, now: u64, event: &Event<'_>) {
        self.note_time(now);
        self.guarded((), |this, py| {
            let object = match event {
                Event::Seen { point, segment, path_rates_bps } => {
                    let segment = this.seen_segment(py, segment)?;
                    let path = this.path(py, path_rates_bps)?;
                    let point = this.contract.points[*point as usize].bind(py).clone();
                    this.contract.seen.make(py, [point, segment, path])?
                }
                Event::Transmit { segment, attempts, delivered, next_hop } => {
                    let segment = this.sent_segment(py, segment)?;
                    let attempts = attempts.into_pyobject(py)?.into_any();
                    let delivered = delivered.into_pyobject(py)?.to_owned().into_any();
                    let next_hop = next_hop.map(|node| node.0).into_pyobject(py)?;
                    this.contract.transmit.make(py, [segment, attempts, delivered, next_hop])?
                }
            };
            let now = now.into_pyobject(py)?.into_any();
            match &this.react {
                Some(react) => {
                    let reaction = call2(react.bind(py), now, object)?;
                    this.take(py, &reaction)
                }
                None => call2(this.handle.bind(py), now, object).map(drop),
            }
        });
    }

    fn poll_action(&mut self) -> Option<Action> {
        if self.react.is_some() {
            return self.actions.pop_front();
        }
        self.guarded(None, |this, py| {
            let object = this.poll.bind(py).call0()?;
            if object.is_none() {
                return Ok(None);
            }
            this.count_request(
                "poll_action() returns actions without an end: it must return None when there are no more, and an action \
                 must not cause the same action again at once",
            )?;
            this.action(py, &object).map(Some)
        })
    }

    fn deadline(&mut self) -> u64 {
        if let (Some(at), None) = (self.wanted_at, &self.failure) {
            return at;
        }
        self.guarded(u64::MAX, |this, py| {
            let object = this.deadline.bind(py).call0()?;
            if object.is_none() { Ok(u64::MAX) } else { object.get_item(0)?.extract() }
        })
    }

    fn handle_timeout(&mut self, now: u64) {
        self.note_time(now);
        self.guarded((), |this, py| {
            this.count_request("deadline() stays in the past: after handle_timeout(now) it must be None or later")?;
            match &this.react {
                Some(react) => {
                    let now = now.into_pyobject(py)?.into_any();
                    let reaction = call2(react.bind(py), now, py.None().into_bound(py))?;
                    this.take(py, &reaction)
                }
                None => this.timeout.call1(py, (now,)).map(drop),
            }
        });
    }

    fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    fn counters_json(&mut self) -> String {
        let dump = |py: Python<'_>| -> PyResult<String> {
            let counters = self.object.bind(py).call_method0("counters")?;
            py.import("json")?.call_method1("dumps", (counters,))?.extract()
        };
        Python::attach(dump).unwrap_or_else(|_| "null".into())
    }
}
