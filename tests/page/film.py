"""The film and the preview image of the station, made by the page itself: ``python -m tests.page.film``."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from everlearn.page.export import STEPS, export
from tests.page.browser import ROOT, Tab, running_browser, wait_for

FILM, PREVIEW = ROOT / "docs" / "images" / "play.gif", ROOT / "docs" / "static" / "preview.png"
FRAME, COLOURS = 100, 160
"""The duration of a frame in milliseconds, and the number of colours of the film."""

SLOW_UNTIL, RACE = 12, 44
"""Serve slowly before this step; and how many frames the race takes."""


def main() -> None:
    """Write both."""
    with TemporaryDirectory() as folder, running_browser() as browser:
        tab = browser.tab()
        tab.size(1120, 640, scale=0.72)
        _open(tab, export(Path(folder) / "station.html"))
        frames = list(_frames(tab))
        _write_film(frames)
        tab.size(1200, 630)
        tab.evaluate("draw()")
        _picture(tab).quantize(128, dither=Image.Dither.NONE).save(PREVIEW, optimize=True)
        tab.close()
    seconds = sum(duration for _, duration in frames) / 1000
    print(
        f"written: {FILM.relative_to(ROOT)}, {len(frames)} frames, {seconds:.1f} s, {FILM.stat().st_size / 1e3:.0f} kB"
    )
    print(f"written: {PREVIEW.relative_to(ROOT)}, {PREVIEW.stat().st_size / 1e3:.0f} kB")


def _open(tab: Tab, page: Path) -> None:
    tab.call("Page.navigate", url=page.as_uri())
    wait_for(lambda: tab.evaluate("!!globalThis.everlearn && !!document.querySelector('#scene svg')"), "the station")
    tab.evaluate("ready.then(() => clearTimeout(waiting))")


def _frames(tab: Tab) -> Iterator[tuple[Image.Image, int]]:
    """Yield pictures and how long each is shown: forty steps by hand, first slow and then fast, and the race."""
    yield _picture(tab), 8 * FRAME
    while (t := tab.evaluate("you.t")) < tab.evaluate("LENGTH"):
        tab.evaluate(f"step({'SLOW' if t < SLOW_UNTIL else 'FAST'}); clearTimeout(waiting)")
        if t < 16 or t % 2:
            yield _picture(tab), FRAME
    tab.evaluate("ready.then(() => 0)")
    yield _picture(tab), 10 * FRAME
    for frame in range(1, RACE + 1):
        t = round(STEPS ** (frame / RACE))
        tab.evaluate(f"advance({t}); get('time').value = {1000 * frame / RACE}; draw(); moments()")
        yield _picture(tab), FRAME if frame < RACE else 12 * FRAME


def _picture(tab: Tab) -> Image.Image:
    data = base64.b64decode(tab.call("Page.captureScreenshot", format="png")["data"])
    return Image.open(io.BytesIO(data)).convert("RGB")


def _write_film(frames: list[tuple[Image.Image, int]]) -> None:
    """Write frames with colours that suit the beginning and the end."""
    pictures = [picture for picture, _ in frames]
    both = Image.new("RGB", (pictures[0].width, 2 * pictures[0].height))
    both.paste(pictures[10])
    both.paste(pictures[-1], (0, pictures[0].height))
    palette = both.quantize(COLOURS, dither=Image.Dither.NONE)
    first, *rest = (picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures)
    durations = [duration for _, duration in frames]
    first.save(FILM, save_all=True, append_images=rest, duration=durations, loop=0, optimize=True)


if __name__ == "__main__":
    main()
