"""Sockets of another process: its connection is found, and nothing else of it is touched."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest
from tap_runs import why_not

from pacelab.hosts.network.tcp import data_socket, listening_descriptor

REASON = why_not("tap")
pytestmark = [pytest.mark.kernel, pytest.mark.skipif(REASON is not None, reason=REASON or "")]

SERVER = """
import socket, sys

def listen(port):
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    made.listen()
    return made

listener = listen(0)
port = listener.getsockname()[1]
print(port, flush=True)
held = [listener.accept()[0] for _ in range(int(sys.argv[1]))]
for _ in range(5000):
    listener.close()
    listener = listen(port)
"""


@pytest.mark.parametrize("connections", [1, 2])
def test_a_listener_is_left_alone_while_connections_are_looked_for(connections: int) -> None:
    """iperf3 binds its port anew when a test begins, and gives up where it cannot."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(connections)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        listens_at = listening_descriptor(server.pid)
        assert listens_at is not None
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]
        found = []
        while server.poll() is None:
            data = data_socket(server.pid, but=listens_at)
            if data is not None:
                found.append(data.getpeername())
                data.close()
        said = server.stderr.read() if server.stderr is not None else ""
        assert server.returncode == 0, said
        assert set(found) == ({clients[1].getsockname()} if connections == 2 else set())
        for client in clients:
            client.close()
