"""The server answers its own pages, to whoever has the token, and nobody else."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator

import pytest

from pacelab.demo.server import LOOPBACK, DemoServer
from pacelab.errors import HostError


@pytest.fixture
def server() -> Iterator[DemoServer]:
    with DemoServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def get(server: DemoServer, path: str, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(LOOPBACK, server.server_port, timeout=10)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_server_lists_for_the_token(server: DemoServer) -> None:
    status, text = get(server, f"/?token={server.token}")
    assert status == 200
    assert "Hidden terminals" in text


@pytest.mark.parametrize("path", ["/", "/hidden", "/?token=", "/?token=wrong", "/hidden?token=%ff"])
def test_server_refuses_without_the_token(server: DemoServer, path: str) -> None:
    assert get(server, path)[0] == 403


def test_server_refuses_a_foreign_host_or_origin(server: DemoServer) -> None:
    path = f"/?token={server.token}"
    assert get(server, path, Host="evil.example")[0] == 403
    assert get(server, path, Origin="http://evil.example")[0] == 403
    assert get(server, path, Origin=f"http://{LOOPBACK}:{server.server_port}")[0] == 200


def test_server_knows_no_other_address(server: DemoServer) -> None:
    assert get(server, f"/../secret?token={server.token}")[0] == 404


def test_server_binds_to_loopback_and_says_when_a_port_is_taken(server: DemoServer) -> None:
    assert server.server_address[0] == LOOPBACK
    with pytest.raises(HostError, match=f"port {server.server_port}: .*choose another by --port"):
        DemoServer(server.server_port)
