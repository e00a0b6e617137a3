"""The platforms on which an experiment was computed: kept in its manifest, and told where another one is added."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from everlearn.results.platform import Platform


class PlatformWarning(UserWarning):
    """Parts of an experiment are computed on platforms whose last bit may differ."""


def platforms(manifest: Mapping[str, Any] | None) -> list[Platform]:
    """Return the platforms on which an experiment was computed, the first one first; none where none was stored.

    Examples
    --------
    >>> here = asdict(Platform.here())
    >>> platforms({"platforms": [here]}) == [Platform.here()]
    True
    >>> platforms({"provenance": {"platform": "Linux-6.1"}})
    []

    """
    return [Platform.read(document) for document in (manifest or {}).get("platforms", [])]


def last_platform(manifest: Mapping[str, Any]) -> Platform:
    """Return the platform on which an experiment was last worked on; in early manifests it is not told."""
    return (platforms(manifest) or [Platform.read({})])[-1]


def stored(*manifests: Mapping[str, Any] | None, and_here: bool = False) -> list[dict[str, str]]:
    """Return the platforms of manifests, each once, as a manifest holds them; and this one, where it joins them."""
    known = [platform for manifest in manifests for platform in platforms(manifest)]
    return [asdict(platform) for platform in dict.fromkeys([*known, *([Platform.here()] * and_here)])]


def warn_of_others(path: Path, manifest: Mapping[str, Any] | None, begun: Iterable[Mapping[str, Any]]) -> None:
    """Warn, in one line, if cells that are not finished were begun on another platform, or all were computed on others.

    ``begun`` are the notes of the cells that are not finished.
    """
    known, here = platforms(manifest), Platform.here()
    cells = [Platform.read(notes["platform"]) for notes in begun if isinstance(notes.get("platform"), Mapping)]
    others = [platform for platform in cells if platform != here] or ([] if here in known else known)
    if others:
        differences = "; ".join(here.differences(others[-1]))
        message = f"{path}: was computed on another platform ({differences}); results may differ in the last bit"
        warnings.warn(message, PlatformWarning, stacklevel=3)
