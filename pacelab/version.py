"""The version of PaceLab."""

__version__ = "0.1.0"
