//! The binding `pacelab_medium`: a run, JSON in and out, Python hooks and congestion controls in between; and the
//! joining of capture files.

mod call;
mod named_tuple;
mod python_hook;
mod python_queue;

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

use pacelab_air_config::Config;
use pacelab_engine::{NEVER, Ns};
use pacelab_network::Network;
use pacelab_network::hook::{Hook, Place};
use pacelab_network::ids::NodeId;
use pacelab_network::qdisc::{self, Discipline};
use pacelab_network::tcp::congestion::{self, Ack, CongestionControl, Phase, RateSample, Recovery};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use python_hook::{Contract, PythonHook};
use python_queue::PythonQueue;

/// Runs an air configuration in virtual time; see medium/README.md.
///
/// Raises ValueError, with one line, for a configuration that cannot be accepted. Exceptions of `on_progress` and
/// KeyboardInterrupt pass through. `make_control(name, initial_window, window_limit)`, when given,
/// makes the congestion controls (see `pacelab.air.congestion`), and `make_queue(limit_pkts)` the queues of kind `own`
/// (see `pacelab.air.queue_discipline`). With the key `capture`, `on_capture` is given the bytes of
/// a pcapng file.
#[pyfunction]
#[pyo3(signature = (config_json, hooks, on_progress = None, on_capture = None, make_control = None, make_queue = None))]
fn run(
    py: Python<'_>,
    config_json: &str,
    hooks: Vec<(u32, Bound<'_, PyAny>, String)>,
    on_progress: Option<Bound<'_, PyAny>>,
    on_capture: Option<Bound<'_, PyAny>>,
    make_control: Option<Bound<'_, PyAny>>,
    make_queue: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let config = Config::from_json(config_json).map_err(PyValueError::new_err)?;
    let capture = config.capture;
    let contract = Contract::load(py)?;
    let hooks = hooks.into_iter().map(|(node, object, place)| {
        Ok((NodeId(node), place_named(&place)?, Box::new(PythonHook::new(py, &contract, object)?) as Box<dyn Hook>))
    });
    let hooks = hooks.collect::<PyResult<Vec<_>>>()?;
    let failure = RefCell::new(None);
    let note_failure = |error: PyErr| {
        let message = error.to_string();
        failure.borrow_mut().get_or_insert(error);
        message
    };
    let mut queues = |limit_pkts: u32| {
        let Some(make) = &make_queue else { return qdisc::no_user_code(limit_pkts) };
        let made = make.call1((limit_pkts,)).map_err(note_failure)?;
        Ok(Box::new(PythonQueue::new(&contract, made)) as Box<dyn Discipline>)
    };
    let mut controls = |name: &str, initial_window: u32, window_limit: u32| {
        let Some(make) = &make_control else { return congestion::by_name(name, initial_window, window_limit) };
        let made = make.call1((name, initial_window, window_limit));
        let control = made.and_then(|object| PythonControl::new(&contract, object)).map_err(note_failure)?;
        Ok(Box::new(control) as Box<dyn CongestionControl>)
    };
    let built = Network::with_user_code(config, hooks, &mut controls, &mut queues);
    if let Some(error) = failure.take() {
        return Err(error);
    }
    let mut network = built.map_err(PyValueError::new_err)?;
    let mut interrupted = None;
    network.run(&mut |fraction| {
        if let Some(error) = contract.interrupt.take() {
            interrupted = Some(error);
            return ControlFlow::Break(());
        }
        let reported = on_progress.as_ref().map_or(Ok(()), |call| call.call1((fraction,)).map(drop));
        match reported.and_then(|()| py.check_signals()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                interrupted = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    if let Some(error) = interrupted.or_else(|| contract.interrupt.take()) {
        return Err(error);
    }
    if let (Some(options), Some(call)) = (capture, on_capture) {
        let bytes = pacelab_pcap::pcapng(&network.take_air_log(), options);
        call.call1((PyBytes::new(py, &bytes),))?;
    }
    Ok(network.report().to_string())
}

fn place_named(name: &str) -> PyResult<Place> {
    match name {
        "node" => Ok(Place::Node),
        "link" => Ok(Place::Link),
        other => Err(PyValueError::new_err(format!("hook place {other:?}: must be \"node\" or \"link\""))),
    }
}

/// Joins pcap files of nanoseconds, each with its interface's name, to one pcapng file in the order of time.
///
/// Raises ValueError if a file is invalid. The message is one line with the name of the interface.
#[pyfunction]
fn join_captures<'py>(py: Python<'py>, captures: Vec<(String, PyBackedBytes)>) -> PyResult<Bound<'py, PyBytes>> {
    let files: Vec<(&str, &[u8])> = captures.iter().map(|(name, content)| (name.as_str(), &**content)).collect();
    let joined = pacelab_pcap::join(&files).map_err(PyValueError::new_err)?;
    Ok(PyBytes::new(py, &joined))
}

/// Panics, for a test: on each platform a panic must become an exception, and must not end Python.
#[pyfunction]
#[pyo3(name = "_panic")]
fn panic_on_purpose() {
    panic!("on purpose");
}

/// The medium: the air and the virtual-time network above it.
#[pymodule]
fn pacelab_medium(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(join_captures, module)?)?;
    module.add_function(wrap_pyfunction!(panic_on_purpose, module)?)?;
    Ok(())
}

/// A Python congestion control, the counterpart of `pacelab.congestion.CongestionControl`: its `window` is read after
/// each call. An exception in it ends the run.
pub struct PythonControl {
    contract: Rc<Contract>,
    object: Py<PyAny>,
    window: f64,
    recovery: Recovery,
    event_mask: u32,
    pacing_pps: Option<f64>,
    deadline: Ns,
}

/// Pacing rate and timer, if the class uses them.
type Extras = Option<(Option<f64>, Option<Ns>)>;

impl PythonControl {
    /// Wraps a new object.
    pub fn new(contract: &Rc<Contract>, object: Bound<'_, PyAny>) -> PyResult<Self> {
        let name: String = object.getattr("recovery")?.extract()?;
        let recovery = match name.as_str() {
            "newreno" => Recovery::NewReno,
            "reno" => Recovery::Reno,
            "go-back-n" => Recovery::GoBackN,
            "sack" => Recovery::Sack,
            _ => {
                let message = format!("recovery {name:?}: must be newreno, reno, go-back-n or sack");
                return Err(PyValueError::new_err(message));
            }
        };
        let window = read_window(&object)?;
        let event_mask = object.getattr("event_mask")?.extract()?;
        let extras: Extras = object.getattr("extras")?.extract()?;
        let mut control = PythonControl {
            contract: Rc::clone(contract),
            object: object.unbind(),
            window,
            recovery,
            event_mask,
            pacing_pps: None,
            deadline: NEVER,
        };
        control.note_extras(extras);
        Ok(control)
    }

    fn tell<'py, A>(&mut self, py: Python<'py>, method: &str, arguments: A)
    where
        A: pyo3::call::PyCallArgs<'py>,
    {
        let object = self.object.bind(py).clone();
        let told = object.call_method1(method, arguments).and_then(|extras| {
            let extras: Extras = if extras.is_none() { None } else { extras.extract()? };
            Ok((read_window(&object)?, extras))
        });
        match told {
            Ok((window, extras)) => {
                self.window = window;
                self.note_extras(extras);
            }
            Err(error) => {
                self.deadline = NEVER;
                self.contract.interrupt.borrow_mut().get_or_insert(error);
            }
        }
    }

    fn note_extras(&mut self, extras: Extras) {
        if let Some((pacing_pps, deadline)) = extras {
            self.pacing_pps = pacing_pps;
            self.deadline = deadline.unwrap_or(NEVER);
        }
    }
}

fn read_window(object: &Bound<'_, PyAny>) -> PyResult<f64> {
    let window: f64 = object.getattr("window")?.extract()?;
    if window.is_finite() && window > 0.0 {
        return Ok(window);
    }
    Err(PyValueError::new_err(format!("window is {window}: must be a finite number of segments above 0")))
}

impl CongestionControl for PythonControl {
    fn window(&self) -> f64 {
        self.window
    }

    fn threshold(&self) -> f64 {
        self.window
    }

    fn acknowledged(&mut self, ack: &Ack) {
        Python::attach(|py| self.tell(py, "acknowledged", (ack.now, ack.acked_pkts, ack.rtt_ns)));
    }

    fn lost(&mut self, now: Ns, in_use: f64) {
        Python::attach(|py| self.tell(py, "lost", (now, in_use)));
    }

    fn recovered(&mut self) {
        Python::attach(|py| self.tell(py, "recovered", ()));
    }

    fn timed_out(&mut self, now: Ns, in_use: f64) {
        Python::attach(|py| self.tell(py, "timed_out", (now, in_use)));
    }

    fn recovery(&self) -> Recovery {
        self.recovery
    }

    fn event_mask(&self) -> u32 {
        self.event_mask
    }

    fn delivered(&mut self, sample: &RateSample) {
        let phase = match sample.phase {
            Phase::Open => "open",
            Phase::Recovery => "recovery",
            Phase::Loss => "loss",
        };
        Python::attach(|py| {
            let fields = (
                (sample.now, sample.rtt_ns, sample.smoothed_rtt_ns, sample.rate_pps(), sample.interval_ns),
                (sample.delivered_pkts, sample.newly_delivered_pkts, sample.lost_pkts, sample.newly_lost_pkts),
                (sample.prior_delivered_pkts, sample.in_flight_pkts, sample.prior_in_flight_pkts),
                (sample.is_app_limited, phase),
            );
            self.tell(py, "delivered", fields);
        });
    }

    fn sent(&mut self, now: Ns, in_flight_pkts: u32, _is_app_limited: bool) {
        Python::attach(|py| self.tell(py, "sent", (now, in_flight_pkts)));
    }

    fn deadline(&self) -> Ns {
        self.deadline
    }

    fn handle_timeout(&mut self, now: Ns) {
        Python::attach(|py| self.tell(py, "timer_expired", (now,)));
    }

    fn pacing_pps(&self) -> Option<f64> {
        self.pacing_pps
    }
}
