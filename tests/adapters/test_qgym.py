"""Networks in QGym's YAML: those that we have too, arrays in files of their own, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

import everlearn as el
from everlearn.errors import InputError
from everlearn.tasks.networks import criss_cross, input_switch, six_class
from everlearn.tasks.registry import make_task
from tests.refusal import refusal

SETTINGS = {
    "name": "criss_cross_bh",
    "lam_type": "constant",
    "lam_params": {"val": [0.9, 0.000001, 0.9]},
    "network": [[1, 0, 1], [0, 1, 0]],
    "mu": [[2, 0, 2], [0, 1, 0]],
    "h": [1, 1, 1],
    "init_queues": [0, 0, 0],
    "queue_event_options": [[1.0, 0, 0], [0, 0, 0], [0, 0, 1], [-1, 1, 0], [0, -1, 0], [0, 0, -1]],
    "num_pool": 1,
}


def written(folder, **changes) -> str:
    file = folder / "env" / "file.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(yaml.safe_dump({**SETTINGS, **changes}))
    return str(file)


def test_the_criss_cross_network_is_ours(tmp_path):
    task = el.from_qgym(written(tmp_path), seen=2)
    assert task.network == criss_cross(regime="BH").network
    assert task.name == "criss_cross_bh"
    assert make_task(f"qgym:{written(tmp_path)}", {"seen": 2}).states == task.states


def test_arrays_have_files_of_their_own(tmp_path):
    network = six_class().network
    folder = tmp_path / "env_data" / "reentrant_2"
    folder.mkdir(parents=True)
    delta = np.vstack([np.diag(np.sign(network.arrivals)), -np.eye(6)])
    for k, to in enumerate(network.routes):
        if to is not None:
            delta[6 + k, to] = 1
    rates = np.array(network.services)
    arrays = {"lam": np.add(network.arrivals, 1e-6), "mu": rates, "network": np.sign(rates), "delta": delta}
    for key, array in arrays.items():
        np.save(folder / f"reentrant_2_{key}.npy", array)
    changes = {"network": None, "mu": None, "lam_params": {"val": None}, "h": [1] * 6, "queue_event_options": "custom"}
    read = el.from_qgym(written(tmp_path, name="reentrant_2", **changes), seen=1).network
    assert (read.services, read.routes) == (network.services, network.routes)
    np.testing.assert_allclose(read.arrivals, network.arrivals, atol=2e-6)


def test_the_switch_is_ours(tmp_path):
    rows = [[1, 0, 0, 0, 0, 0], [0] * 6, [0, 0, 1, 0, 0, 0], [0] * 6, [0, 0, 0, 0, 1, 0], [0] * 6]
    rows += [[-1, 0, 0, 1, 0, 0], [0, -1, 0, 0, 0, 0], [0, 0, -1, 0, 0, 0], [0, 0, 0, -1, 1, 0], [0, 0, 0, 0, -1, 0]]
    rows += [[0, 1, 0, 0, 0, -1]]
    served = np.kron(np.eye(3), [1.0, 1.0]).tolist()
    given = {"lam_params": {"val": [0.4] * 6}, "network": served, "mu": served, "h": [1] * 6}
    read = el.from_qgym(written(tmp_path, queue_event_options=rows, **given), seen=1).network
    assert read == input_switch().network


@pytest.mark.parametrize(
    ("argument", "changes"),
    [
        ("lam_type", {"lam_type": "hyper"}),
        ("service_type", {"service_type": "hyper"}),
        ("num_pool", {"num_pool": 10}),
        ("server_pool_size", {"server_pool_size": [1, 3]}),
        ("mu", {"mu": None}),
        ("mu", {"mu": [[2, 0, 2], [0, "x", 0]]}),
        ("mu", {"mu": [[2, 0], [0, 1]]}),
        ("network", {"network": [1, 0, 1]}),
        ("server_pool_size", {"server_pool_size": [[1], [1, 2]]}),
        ("lam_params", {"lam_params": {"val": [0.9]}}),
        ("lam_params", {"lam_params": [0.9, 0.0, 0.9]}),
        ("queue_event_options", {"queue_event_options": [[1, 0, 0]]}),
        ("queue_event_options", {"queue_event_options": [[1, 1, 0], *SETTINGS["queue_event_options"][1:]]}),
        ("queue_event_options", {"queue_event_options": [*SETTINGS["queue_event_options"][:5], [0, 0, -2]]}),
        ("h", {"h": [1, 0.5, 1]}),
        ("h", {"h": [1, float("inf"), 1]}),
        ("h", {"h": [1, float("nan"), 1]}),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path, argument, changes):
    with pytest.raises(InputError, check=lambda error: error.argument == argument):
        el.from_qgym(written(tmp_path, **changes))


@pytest.mark.parametrize("text", ["[1, 2]", "{a: "])
def test_a_file_that_is_no_mapping_is_refused(tmp_path, text):
    (tmp_path / "file.yaml").write_text(text)
    with pytest.raises(InputError, check=lambda error: error.argument == "file"):
        el.from_qgym(tmp_path / "file.yaml")


def test_a_network_of_other_numbers_than_0_and_1_is_refused(tmp_path):
    with pytest.raises(InputError, check=refusal("network", [[2.0, 0.0, 1.0], [0.0, 1.0, 0.0]])):
        el.from_qgym(written(tmp_path, network=[[2, 0, 1], [0, 1, 0]]), seen=2)
