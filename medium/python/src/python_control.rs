//! A Python congestion control: the counterpart of `pacelab.congestion.CongestionControl`.

use std::rc::Rc;

use pacelab_engine::Ns;
use pacelab_network::tcp::congestion::{Ack, CongestionControl, Recovery};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::python_hook::Contract;

/// A Python object whose `window` is read after each call. What it raises ends the run.
pub struct PythonControl {
    contract: Rc<Contract>,
    object: Py<PyAny>,
    window: f64,
    recovery: Recovery,
}

impl PythonControl {
    /// Takes an object that has just been made.
    pub fn new(contract: &Rc<Contract>, object: Bound<'_, PyAny>) -> PyResult<Self> {
        let name: String = object.getattr("recovery")?.extract()?;
        let recovery = match name.as_str() {
            "newreno" => Recovery::NewReno,
            "reno" => Recovery::Reno,
            "go-back-n" => Recovery::GoBackN,
            _ => return Err(PyValueError::new_err(format!("recovery {name:?}: newreno, reno or go-back-n"))),
        };
        let window = read_window(&object)?;
        Ok(PythonControl { contract: Rc::clone(contract), object: object.unbind(), window, recovery })
    }

    fn tell<'py, A>(&mut self, py: Python<'py>, method: &str, arguments: A)
    where
        A: pyo3::call::PyCallArgs<'py>,
    {
        let object = self.object.bind(py).clone();
        match object.call_method1(method, arguments).and_then(|_| read_window(&object)) {
            Ok(window) => self.window = window,
            Err(error) => {
                self.contract.interrupt.borrow_mut().get_or_insert(error);
            }
        }
    }
}

fn read_window(object: &Bound<'_, PyAny>) -> PyResult<f64> {
    let window: f64 = object.getattr("window")?.extract()?;
    if window.is_finite() && window > 0.0 {
        return Ok(window);
    }
    Err(PyValueError::new_err(format!("its window is {window}: must be a number of segments above 0")))
}

impl CongestionControl for PythonControl {
    fn window(&self) -> f64 {
        self.window
    }

    fn threshold(&self) -> f64 {
        self.window
    }

    fn acknowledged(&mut self, ack: &Ack) {
        Python::with_gil(|py| self.tell(py, "acknowledged", (ack.now, ack.acked_pkts, ack.rtt_ns)));
    }

    fn lost(&mut self, now: Ns, in_use: f64) {
        Python::with_gil(|py| self.tell(py, "lost", (now, in_use)));
    }

    fn recovered(&mut self) {
        Python::with_gil(|py| self.tell(py, "recovered", ()));
    }

    fn timed_out(&mut self, now: Ns, in_use: f64) {
        Python::with_gil(|py| self.tell(py, "timed_out", (now, in_use)));
    }

    fn recovery(&self) -> Recovery {
        self.recovery
    }
}
