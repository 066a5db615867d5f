"""The real Wi-Fi stack over mediumd: carrier sense, hidden stations and reuse, which stock wmediumd has not."""

import unittest

from radios import NEVER, Medium, Radios

# Standard, 802.11b: DIFS 50, 15.5 slots of 20, preamble 192 + 1536 * 8 / 2, SIFS 10, ACK 304 (us), 2 x 0.67 of way.
LONE_BPS = 1472 * 8 / 7011.3e-6
# Who is 400 m away is not sensed.
HIDDEN = {"kind": "range", "decode_m": 250.0, "sense_m": 390.0, "capture_db": 10.0}


def told(what: str, **numbers: object) -> None:
    print(f"  {what}: " + ", ".join(f"{key} {value}" for key, value in numbers.items()), flush=True)


class Air(unittest.TestCase):
    def test_a_lone_link_reaches_the_closed_form(self) -> None:
        with Radios(2) as radios, Medium(radios, [(0, 0), (200, 0)]) as medium:
            (rate,) = radios.saturate([(0, 1)], 10)
            stats = medium.ask("stats")
        told(
            "alone",
            bps=round(rate),
            of_closed_form=round(rate / LONE_BPS, 3),
            fidelity=stats["fidelity"],
            late_us=[round((stats["lateness"]["delivery"][key] or 0) / 1000) for key in ("p50_ns", "p99_ns")],
        )
        assert abs(rate / LONE_BPS - 1) <= 0.03

    def test_pairs_two_kilometres_apart_do_not_share(self) -> None:
        places = [(0, 0), (200, 0), (2000, 0), (2200, 0)]
        with Radios(4) as radios, Medium(radios, places):
            (alone,) = radios.saturate([(0, 1)])
            together = radios.saturate([(0, 1), (2, 3)])
        told(
            "2 km apart",
            alone=round(alone),
            together=[round(rate) for rate in together],
            ratio=round(sum(together) / alone, 2),
        )
        assert sum(together) >= 1.9 * alone

    def test_hidden_senders_collide_without_rts_and_the_kernel_counts_retries(self) -> None:
        with Radios(3) as radios, Medium(radios, [(0, 0), (200, 0), (400, 0)], propagation=HIDDEN) as medium:
            (alone,) = radios.saturate([(0, 1)])
            before = radios.station_dump(0, 1)
            off = radios.saturate([(0, 1), (2, 1)])
            after = radios.station_dump(0, 1)
            medium.ask("set_rts_threshold", bytes=0)
            radios.saturate([(0, 1)], 2.0)  # what queued without RTS is gone
            on = radios.saturate([(0, 1), (2, 1)])
            (alone_rts,) = radios.saturate([(0, 1)])
            medium.ask("set_rts_threshold", bytes=NEVER)
        told(
            "hidden",
            alone=round(alone),
            off=[round(rate) for rate in off],
            on=[round(rate) for rate in on],
            alone_with_rts=round(alone_rts),
            retries_alone=before["tx retries"],
            retries=after["tx retries"] - before["tx retries"],
            failed=after["tx failed"] - before["tx failed"],
        )
        assert sum(off) <= 0.25 * alone
        assert sum(on) >= 0.9 * alone_rts
        assert before["tx retries"] < 20
        assert after["tx retries"] - before["tx retries"] > 100

    def test_channels_do_not_interact(self) -> None:
        places = [(0, 0), (200, 0), (0, 100), (200, 100)]
        with Radios(4, channels={2: 11, 3: 11}) as radios, Medium(radios, places):
            (alone,) = radios.saturate([(0, 1)], 4)
            together = radios.saturate([(0, 1), (2, 3)], 4)
        told("channels 1 and 11", alone=round(alone), together=[round(rate) for rate in together])
        assert sum(together) >= 1.9 * alone

    def test_an_exposed_sender_defers(self) -> None:
        # h1 sends to h0, h2 to h3; the senders sense each other although neither's receiver hears the other.
        places = [(0, 0), (200, 0), (500, 0), (700, 0)]
        with Radios(4) as radios, Medium(radios, places) as medium:
            (alone,) = radios.saturate([(1, 0)], 4)
            together = radios.saturate([(1, 0), (2, 3)], 4)
            rows = {row["name"]: row for row in medium.ask("stats")["stations"]}
        told(
            "exposed",
            alone=round(alone),
            together=[round(rate) for rate in together],
            retries=[rows[name]["retries"] for name in ("h1", "h2")],
        )
        assert sum(together) < 1.2 * alone

    def test_twenty_stations(self) -> None:
        # Ten pairs 600 m apart: no pair senses another.
        places = [(600 * (i // 2) + 100 * (i % 2), 0) for i in range(20)]
        with Radios(20) as radios, Medium(radios, places) as medium:
            rates = radios.saturate([(i, i + 1) for i in range(0, 20, 2)], 4)
            stats = medium.ask("stats")
        told(
            "20 stations",
            sum_bps=round(sum(rates)),
            least=round(min(rates)),
            fidelity=stats["fidelity"],
            frames_per_s=round(sum(rates) / 8 / 1472),
        )
        assert min(rates) > 0


if __name__ == "__main__":
    unittest.main()
