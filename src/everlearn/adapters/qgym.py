"""Turn a network that QGym describes in YAML into a task (Chen et al., 2024)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from everlearn.adapters.pomdp import find_file
from everlearn.environments.network import Network
from everlearn.errors import InputError, require
from everlearn.protocol import Table
from everlearn.tasks.networks import STABLE, network_task
from everlearn.tasks.task import Task


def from_qgym(path: str | Path, *, seen: int = 3, outside: str = STABLE) -> Task:
    """Make a task from a file that describes a network of queues, in the format of QGym's ``configs/env``.

    Arrivals must have constant rates, services exponential times, and each server a pool of its own.  If an array is
    ``null`` or ``custom`` in the file, it is read from ``env_data/NAME/NAME_*.npy`` beside the file's folder, where
    QGym has it.  A queue whose row in ``queue_event_options`` is zero has no arrivals.  The duration
    of QGym's simulation is ignored.

    Parameters
    ----------
    path:
        the file; a relative path is looked up in the current directory, then in the folders of ``sys.path``
    seen:
        the agent sees the number of jobs of each class if no class has more than this
    outside:
        the rule that decides instead of the agent if a class has more: ``c-mu``, ``max-weight``, ``max-pressure``,
        ``longest-queue``, ``last-buffer`` or ``fluid``

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
    ...     _ = file.write("{name: n_model, lam_type: constant, lam_params: {val: [0.38, 1.235]}, h: [1, 3], "
    ...                    "network: [[1, 1], [0, 1]], mu: [[1, 0.5], [0, 1]], queue_event_options: null}")
    ...     file.flush()
    ...     task = from_qgym(file.name)
    >>> task.name, task.actions, task.network.arrivals, task.network.load
    ('n_model', ('1-2', '2-2'), (0.38, 1.235), 0.95)

    """
    file = find_file(path)
    settings = _read(file)
    name = str(settings.get("name", file.stem))
    arrays = _Arrays(file, name, settings)
    for key, plain in (("lam_type", "constant"), ("service_type", "exponential")):
        require(settings.get(key, plain) == plain, key, settings.get(key), f"only {plain} is supported")
    for key in ("server_pool_size", "num_pool"):
        pools = np.ravel(np.array(settings.get(key, 1), dtype=object))
        require(bool((pools == 1).all()), key, pools.tolist(), "only pools of one server are read")
    rates_of, able = (arrays.table(key, settings.get(key)) for key in ("mu", "network"))
    require(able.ndim == 2, "network", able.tolist(), "give a row for each server, with a 0 or 1 for each queue")
    fine = bool(np.isin(able, (0, 1)).all())
    require(fine, "network", able.tolist(), "give a 0 or 1 for each server and queue; rates belong in mu")
    require(rates_of.shape == able.shape, "mu", rates_of.tolist(), f"give a table like network, of shape {able.shape}")
    services, classes = rates_of * able, able.shape[1]
    events = _events(arrays, settings.get("queue_event_options"), classes)
    arriving = settings.get("lam_params") or {}
    require(isinstance(arriving, dict), "lam_params", arriving, "give a mapping with val, the rates")
    rates = np.ravel(arrays.table("lam", arriving.get("val")))
    require(rates.size == classes, "lam_params", rates.tolist(), f"give {classes} rates, one for each queue")
    arrivals = np.where(events[:classes].any(axis=1), rates, 0.0)
    network = Network(
        tuple(arrivals.tolist()), tuple(map(tuple, services.tolist())), _routes(events), _holding(settings, classes)
    )
    return network_task(
        network,
        seen=seen,
        outside=outside,
        name=name,
        source=f"the file {file.name}",
        parameters={"seen": seen, "outside": outside},
    )


class _Arrays:
    """The arrays of a file, some of which are in files of their own."""

    def __init__(self, file: Path, name: str, settings: dict[str, Any]) -> None:
        kind = str(settings.get("env_type", name))
        self._folder, self._kind = file.parent.parent / "env_data" / kind, kind

    def table(self, key: str, given: Any) -> Table:
        """Return an array of numbers, from the settings or from its own file."""
        try:
            if given is None or given == "custom":
                return np.asarray(np.load(self._folder / f"{self._kind}_{key}.npy"), dtype=float)
            return np.array(given, dtype=float)
        except OSError:
            raise InputError(key, given, f"is not in the file, nor in {self._folder}; give an array") from None
        except (TypeError, ValueError):
            raise InputError(key, given, "give an array of numbers") from None


def _read(file: Path) -> dict[str, Any]:
    try:
        import yaml  # type: ignore[import-untyped]
    except ImportError:
        raise InputError("file", str(file), "needs PyYAML; install everlearn[qgym]") from None
    try:
        settings = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError("file", str(file), f"cannot be read: {' '.join(str(error).split())}") from None
    require(isinstance(settings, dict), "file", str(file), "is no mapping; give a file of QGym's configs/env")
    return settings  # type: ignore[no-any-return]


def _events(arrays: _Arrays, given: Any, classes: int) -> Table:
    """Return how each arrival and then each service changes the queues; by default, jobs leave after a service."""
    if given is None:
        return np.vstack([np.eye(classes), -np.eye(classes)])
    events = arrays.table("delta", given)
    remedy = f"give {2 * classes} rows of {classes} numbers, an arrival and a service for each queue"
    require(events.shape == (2 * classes, classes), "queue_event_options", events.shape, remedy)
    for k, row in enumerate(events[:classes]):
        plain = not row.any() or np.array_equal(row, np.eye(classes)[k])
        require(plain, "queue_event_options", row.tolist(), f"arrival {k + 1} must add a job to its own queue, or none")
    return events


def _routes(events: Table) -> tuple[int | None, ...]:
    classes = events.shape[1]
    routes: list[int | None] = []
    for k, row in enumerate(events[classes:]):
        joined = row + np.eye(classes)[k]
        plain = bool(np.isin(joined, (0, 1)).all()) and joined.sum() <= 1
        require(plain, "queue_event_options", row.tolist(), f"service {k + 1} must move one job of its own queue")
        routes.append(int(joined.argmax()) if joined.any() else None)
    return tuple(routes)


def _holding(settings: dict[str, Any], classes: int) -> tuple[int, ...]:
    given = settings.get("h", [1] * classes)
    whole = isinstance(given, list) and all(
        isinstance(cost, int | float) and float(cost).is_integer() for cost in given
    )
    require(whole, "h", given, "give a whole number for each queue; only ratios matter, so multiply if you need to")
    return tuple(int(cost) for cost in given)
