"""The server answers its own pages, to whoever has the token, and nobody else."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from pacelab.demo.catalog import find_demo
from pacelab.demo.runs import answer, start
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


def change(name: str = "starvation") -> dict[str, object]:
    begin = start(find_demo(name))
    return {"values": dict(begin.values), "places": begin.places, "seed": begin.seed}


def post(server: DemoServer, body: bytes, *, name: str = "starvation", **headers: str) -> tuple[int, str]:
    ours = {"Origin": f"http://{LOOPBACK}:{server.server_port}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(LOOPBACK, server.server_port, timeout=20)
    try:
        path = f"/{name}/run?token={headers.pop('token', server.token)}"
        sent = {name.replace("_", "-"): value for name, value in (ours | headers).items() if value}
        connection.request("POST", path, body=body, headers=sent)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_server_runs_a_change(server: DemoServer) -> None:
    status, text = post(server, json.dumps(change()).encode())
    assert status == 200
    assert json.loads(text) == json.loads(json.dumps(answer(find_demo("starvation"), start(find_demo("starvation")))))


def test_server_refuses_a_change_that_is_none_with_one_line(server: DemoServer) -> None:
    for body in (b"", b"{", b"\xff", b"[" * 9000, b"[]", json.dumps(change() | {"seed": -1}).encode()):
        status, text = post(server, body)
        assert status == 400
        assert len(text.splitlines()) == 1


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (403, {"Origin": ""}),
        (403, {"Origin": "null"}),
        (403, {"Origin": "http://["}),
        (403, {"Origin": "http://evil.example"}),
        (403, {"Host": "evil.example"}),
        (403, {"token": "wrong"}),
        (415, {"Content-Type": "text/plain"}),
        (411, {"Content-Length": "-1"}),
        (413, {"Content-Length": "8000001"}),
    ],
)
def test_server_refuses_to_run(server: DemoServer, status: int, headers: dict[str, str]) -> None:
    assert post(server, json.dumps(change()).encode(), **headers)[0] == status


def test_a_page_that_is_left_before_its_answer_is_no_traceback(
    server: DemoServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()

    def end(request: socket.socket) -> None:
        request.close()
        ended.set()

    monkeypatch.setattr(server, "shutdown_request", end)
    page = socket.create_connection((LOOPBACK, server.server_port), timeout=10)
    page.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # gone at once
    page.sendall(f"GET /hidden?token={server.token} HTTP/1.1\r\nHost: {LOOPBACK}:{server.server_port}\r\n".encode())
    page.close()
    assert ended.wait(10)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["hidden", "magic", ""])
def test_server_runs_only_demonstrations_of_python(server: DemoServer, name: str) -> None:
    assert post(server, b"{}", name=name)[0] == 404
