//! A queue discipline in Python, the counterpart of `pacelab.air.queue_discipline`. An exception in it ends the run.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use pacelab_engine::Ns;
use pacelab_network::qdisc::{Change, Discipline, Item};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::python_hook::Contract;

/// The packets that the class dropped or marked: (packet number, what the class did).
type Changes = Option<Vec<(u64, String)>>;

/// The queue of one interface.
pub struct PythonQueue {
    contract: Rc<Contract>,
    object: Py<PyAny>,
    /// By a number that is used once, in the order of arrival.
    waiting: BTreeMap<u64, Item>,
    next: u64,
    /// The class has failed: until the run ends, packets leave in the order of arrival.
    failed: bool,
}

impl PythonQueue {
    /// Takes an object that has just been made.
    pub fn new(contract: &Rc<Contract>, object: Bound<'_, PyAny>) -> Self {
        let contract = Rc::clone(contract);
        PythonQueue { contract, object: object.unbind(), waiting: BTreeMap::new(), next: 0, failed: false }
    }

    fn apply(&mut self, told: Changes, changes: &mut Vec<Change>) -> PyResult<()> {
        for (number, what) in told.into_iter().flatten() {
            let unknown = || PyValueError::new_err(format!("packet {number} does not wait"));
            if what == "marked" {
                changes.push(Change::Marked(self.waiting.get(&number).ok_or_else(unknown)?.id));
            } else {
                let item = self.waiting.remove(&number).ok_or_else(unknown)?;
                changes.push(Change::Dropped(item, if what == "full" { "full" } else { "early" }));
            }
        }
        Ok(())
    }

    fn fail(&mut self, error: PyErr) {
        self.failed = true;
        self.contract.interrupt.borrow_mut().get_or_insert(error);
    }

    fn pop_by_class(&mut self, now: Ns, changes: &mut Vec<Change>) -> PyResult<Option<Item>> {
        let (number, told) = Python::attach(|py| {
            let answer = self.object.bind(py).call_method1("pop", (now,))?;
            answer.extract::<(Option<u64>, Changes)>()
        })?;
        self.apply(told, changes)?;
        let Some(number) = number else { return Ok(None) };
        let item = self.waiting.remove(&number);
        item.map(Some).ok_or_else(|| PyValueError::new_err(format!("packet {number} does not wait")))
    }
}

impl fmt::Debug for PythonQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PythonQueue").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

impl Discipline for PythonQueue {
    fn push(&mut self, item: Item, changes: &mut Vec<Change>) {
        let number = self.next;
        self.next += 1;
        self.waiting.insert(number, item);
        if self.failed {
            return;
        }
        let told = Python::attach(|py| {
            let fields = (number, item.bytes, item.flow, item.ecn_capable, item.at);
            self.object.bind(py).call_method1("push", fields)?.extract()
        });
        if let Err(error) = told.and_then(|told| self.apply(told, changes)) {
            self.fail(error);
        }
    }

    fn pop(&mut self, now: Ns, changes: &mut Vec<Change>) -> Option<Item> {
        if !self.failed {
            match self.pop_by_class(now, changes) {
                Ok(item) if item.is_some() || self.waiting.is_empty() => return item,
                Ok(_) => self.fail(PyValueError::new_err("no packet leaves, although packets wait")),
                Err(error) => self.fail(error),
            }
        }
        self.waiting.pop_first().map(|(_, item)| item)
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn take_back(&mut self, wanted: &dyn Fn(&Item) -> bool) -> Vec<Item> {
        let numbers: Vec<u64> =
            self.waiting.iter().filter(|(_, item)| wanted(item)).map(|(&number, _)| number).collect();
        let taken = numbers.iter().filter_map(|number| self.waiting.remove(number)).collect();
        let told = Python::attach(|py| self.object.bind(py).call_method1("forget", (numbers,)).map(drop));
        if let Err(error) = told {
            self.fail(error);
        }
        taken
    }
}
