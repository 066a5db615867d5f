"""nftables by its own library: a millisecond a command, where starting `nft` takes ten and more."""

from __future__ import annotations

import ctypes

from pacelab.pacer.linux.errors import AgentError

_LIBRARY = "libnftables.so.1"


class Nftables:
    """Runs nft commands. Raises AgentError without the library, and when a command fails."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL(_LIBRARY)
        except OSError:
            raise AgentError(f"{_LIBRARY} not found; install nftables") from None
        self._library.nft_ctx_new.restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(self._library.nft_ctx_new(0))
        self._library.nft_ctx_buffer_output(self._context)
        self._library.nft_ctx_buffer_error(self._context)
        for name in ("nft_ctx_get_output_buffer", "nft_ctx_get_error_buffer"):
            getattr(self._library, name).restype = ctypes.c_char_p

    def run(self, commands: str) -> str:
        """Carry commands out as one transaction; what they printed."""
        failed = self._library.nft_run_cmd_from_buffer(self._context, commands.encode())
        printed: bytes = self._library.nft_ctx_get_output_buffer(self._context)
        said: bytes = self._library.nft_ctx_get_error_buffer(self._context)
        if failed:
            line = " ".join(said.decode(errors="replace").split())[:200]
            raise AgentError(f"nftables: {line}; run as root, on a kernel with nftables")
        return printed.decode(errors="replace")

    def close(self) -> None:
        """Let go of the library's memory."""
        self._library.nft_ctx_free(self._context)
