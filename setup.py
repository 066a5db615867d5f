"""What is compiled: it depends on where the wheel will run. All else stands in pyproject.toml.

setuptools-rust takes the target from CARGO_BUILD_TARGET (`.ci/wheels.py` sets it); without, it is this machine.
"""

import os
import sys

from setuptools import setup
from setuptools_rust import RustBin, RustExtension, Strip

target = os.environ.get("CARGO_BUILD_TARGET", "")
linux = "-linux-" in target if target else sys.platform == "linux"
windows_from_afar = "-windows-" in target and sys.platform != "win32"
if windows_from_afar:
    os.environ["SETUPTOOLS_EXT_SUFFIX"] = ".pyd"  # setuptools would take this machine's

engine = RustExtension(
    "pacelab._medium",
    "medium/python/Cargo.toml",
    features=["pyo3/extension-module", *(["import-lib"] if windows_from_afar else [])],
    py_limited_api=not windows_from_afar,  # decides the file's name alone
    debug=False,  # release mode, in an editable install too
    args=["--locked"],
    rustc_flags=os.environ.get("ENGINE_FLAGS", "").split(),  # make's
)
# The air between real hosts, which are Linux's.
mediumd = RustBin("mediumd", "medium/mediumd/Cargo.toml", strip=Strip.All, debug=False, args=["--locked"])

setup(
    # The compiled algorithms are for this machine and its Python: a wheel for another has the .py files alone.
    exclude_package_data={"pacelab.native": ["*.so", "made.txt"]} if target else {},
    rust_extensions=[engine, mediumd] if linux else [engine],
    scripts=["medium/mediumd/wmediumd"] if linux else [],
)
