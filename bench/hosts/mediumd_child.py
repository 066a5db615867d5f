"""Sends datagrams from many namespaces at once: PKTS_PER_S SECONDS PAYLOAD_BYTES PID... Prints how many it sent.

Hosts 2k and 2k + 1 send to each other. One process, so that the sender's own switching does not count as mediumd's.
"""

import ctypes
import os
import socket
import sys
import time

CLONE_NEWNET = 0x40000000
PORT = 9000


def sockets(pids: list[str]) -> list[socket.socket]:
    """A connected socket per host, and one that takes in what arrives there (and is never read)."""
    libc = ctypes.CDLL(None, use_errno=True)
    found = []
    for number, pid in enumerate(pids):
        with open(f"/proc/{pid}/ns/net", encoding="utf-8") as namespace:
            if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"entering the namespace of {pid}")
        sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sink.bind(("", PORT))
        out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        out.connect((f"10.0.0.{(number ^ 1) + 1}", PORT))
        found.append(out)
        sink.detach()
    return found


def main() -> None:
    """Send on planned times; whatever is due at once goes out at once, in turns."""
    pkts_per_s, seconds, payload_bytes = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    outs = sockets(sys.argv[4:])
    data, sent, total = os.urandom(payload_bytes), 0, round(pkts_per_s * seconds)
    start = time.monotonic()
    while sent < total:
        due = min(total, int((time.monotonic() - start) * pkts_per_s))
        for number in range(sent, due):
            outs[number % len(outs)].send(data)
        sent = due
        time.sleep(0.0005)
    print(sent)


if __name__ == "__main__":
    main()
