"""The papers' pacing algorithms: `core` is pure, shells translate between it and a simulator or a kernel."""
