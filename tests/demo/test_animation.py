"""Exports: a GIF for slides, and what is said of a name that is neither."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from pacelab.cli.main import main
from pacelab.demo import animation


@pytest.mark.parametrize(("name", "parts"), [("hidden", 2), ("starvation", 3)])
def test_gif_shows_each_part(name: str, parts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(animation, "FRAMES", 2)
    path = tmp_path / f"{name}.gif"
    assert main(["demo", name, "--export", str(path)]) == 0
    with Image.open(path) as picture:
        assert picture.size == (1280, 720)
        assert picture.info["loop"] == 0
        shown = []
        for frame in range(picture.n_frames):
            picture.seek(frame)
            shown.append(picture.info["duration"])
    assert 2 * parts <= len(shown) <= 3 * parts
    assert sum(shown) == parts * (2 * animation.FRAME_MS + animation.LAST_MS)


@pytest.mark.parametrize("name", ["hidden.mp4", "hidden"])
def test_export_of_another_kind_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "hidden", "--export", str(tmp_path / name)]) == 2
    assert "allowed is a name that ends in .html or .gif" in capsys.readouterr().err
