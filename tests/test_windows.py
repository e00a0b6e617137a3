"""Windows by name."""

from __future__ import annotations

import pytest

from everlearn.windows import Window


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("window:1", Window(1, False)),
        ("window:12+actions", Window(12, True)),
        ("window:0", Window(0, False)),
        ("window:", None),
        ("window:+actions", None),
        ("window:1+", None),
        ("window:-1", None),
        ("window:1000", Window(1000, False)),
        ("window:1\n", None),
        ("memory", None),
        (3, None),
    ],
)
def test_read(text, window):
    assert Window.read(text) == window
