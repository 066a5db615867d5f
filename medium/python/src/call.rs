//! Calls without a tuple of arguments. PyO3 makes such a tuple for each call, because Python 3.11's stable ABI has the
//! faster call only in a form with a variable number of arguments.

#![allow(unsafe_code)]

use std::ptr::null_mut;

use pyo3::ffi;
use pyo3::prelude::*;

/// Calls with two arguments.
///
/// # Errors
/// What the callable raises.
pub fn call2<'py>(
    callable: &Bound<'py, PyAny>,
    first: Bound<'py, PyAny>,
    second: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the call ends its arguments with a null pointer. It borrows them, and they live until this function returns.
    // The result is a new reference, or null with an exception set.
    unsafe {
        let end = null_mut::<ffi::PyObject>();
        let result = ffi::PyObject_CallFunctionObjArgs(callable.as_ptr(), first.as_ptr(), second.as_ptr(), end);
        Bound::from_owned_ptr_or_err(callable.py(), result)
    }
}
