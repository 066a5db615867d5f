//! Named tuples made in place. PyO3 has no safe call for that: `tuple.__new__(class, fields)` makes two other tuples, one for
//! the arguments and one for the fields, copies the fields twice, and costs three times the instructions. A hook gets two
//! named tuples for each event.

#![allow(unsafe_code)]

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

/// A class that is derived from `NamedTuple`.
pub struct NamedTuple {
    class: Py<PyType>,
    fields: usize,
}

impl NamedTuple {
    /// Takes the class. Its instances have room for their fields alone: no dict, no slots.
    ///
    /// # Errors
    /// TypeError if the class is something else.
    pub fn new(class: &Bound<'_, PyAny>) -> PyResult<Self> {
        let class = class.cast::<PyType>()?;
        let of_tuple: usize = class.py().get_type::<PyTuple>().getattr("__basicsize__")?.extract()?;
        let (size, fields) = (class.getattr("__basicsize__")?.extract::<usize>()?, class.getattr("_fields")?.len()?);
        if !class.is_subclass_of::<PyTuple>()? || size != of_tuple {
            return Err(PyTypeError::new_err(format!("{class} is no named tuple")));
        }
        Ok(NamedTuple { class: class.clone().unbind(), fields })
    }

    /// An instance with these fields.
    pub fn make<'py, const N: usize>(
        &self,
        py: Python<'py>,
        fields: [Bound<'py, PyAny>; N],
    ) -> PyResult<Bound<'py, PyAny>> {
        if N != self.fields {
            return Err(PyTypeError::new_err(format!("{} has {} fields, not {N}", self.class.bind(py), self.fields)));
        }
        // SAFETY: `new` has checked that instances of the class are tuples. This is the call by which `tuple.__new__` makes
        // such an instance, with N places that are NULL. Nobody else has seen the instance, so each place may be set once.
        // PyTuple_SetItem takes over the reference, and cannot fail for a place below N of a tuple with one owner.
        unsafe {
            let class = self.class.bind(py).as_type_ptr();
            let tuple = Bound::from_owned_ptr_or_err(py, ffi::PyType_GenericAlloc(class, N as ffi::Py_ssize_t))?;
            for (place, field) in fields.into_iter().enumerate() {
                ffi::PyTuple_SetItem(tuple.as_ptr(), place as ffi::Py_ssize_t, field.into_ptr());
            }
            Ok(tuple)
        }
    }
}
