"""Log-distance loss with shadowing, from a topology of one's own to the air."""

from pathlib import Path

import pytest

import pacelab
from pacelab.sim.airconfig import compile_air

FILE = """version: 1
name: shadows
ranges: {{decode: 250 m, sense: 550 m{loss}}}
nodes:
  - {{name: a, at: [0 m, 0 m]}}
  - {{name: b, at: [200 m, 0 m]}}
flows:
  - {{from: a, to: b}}
"""

pytestmark = pytest.mark.usefixtures("engine")


def experiment(folder: Path, loss: str, **options: object) -> pacelab.Experiment:
    path = folder / "shadows.yaml"
    path.write_text(FILE.format(loss=loss))
    return pacelab.Experiment(topology=str(path), duration_s=1, **options)


def test_the_ranges_become_thresholds_a_decade_per_ten_exponents(tmp_path: Path) -> None:
    chosen = experiment(tmp_path, ", exponent: 3")
    air = compile_air(chosen)["radio"]["propagation"]
    # 10 * 3 * log10(550 / 250) = 10.27 dB between the two thresholds
    assert air["decode_dbm"] - air["sense_dbm"] == pytest.approx(10.2727, abs=1e-3)
    assert air["kind"] == "log-distance"
    assert air["shadowing_db"] == 0


def test_shadowing_belongs_to_the_seed(tmp_path: Path) -> None:
    def carries(seed: int) -> bool:
        try:
            return (
                pacelab.run(experiment(tmp_path, ", exponent: 3, shadowing: 12 dB", seed=seed)).run["totals"][
                    "goodput_bps"
                ]
                > 0
            )
        except pacelab.ConfigError:  # this seed's shadow lies on the only link
            return False

    verdicts = [carries(seed) for seed in range(1, 21)]
    # 200 m is 2.9 dB inside of 250 m: a link with probability Phi(2.9 / 12) = 0.6, of 20 seeds 12 +- 4.4 (95 %)
    assert 7 <= sum(verdicts) <= 17
    assert verdicts == [carries(seed) for seed in range(1, 21)]


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (", shadowing: 4 dB", r":3: ranges.shadowing: it goes with an exponent"),
        (", exponent: 3, shadowing: 4 m", r":3: ranges.shadowing: '4 m': unknown unit 'm'"),
        (", exponent: 0.5", r":3: ranges.exponent"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, loss: str, message: str) -> None:
    with pytest.raises(pacelab.ConfigError, match=message):
        experiment(tmp_path, loss)
