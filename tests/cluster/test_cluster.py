"""A cluster gives what one machine gives, to the last byte, whatever happens to its workers."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numba
import pytest

import everlearn as el
from everlearn.api import workforce
from everlearn.cluster import workforce as cluster_workforce
from everlearn.cluster.legs import ClusterError, make_order, pack_table, run_leg, unpack_table
from everlearn.cluster.workforce import Cluster, WorkerWarning
from everlearn.errors import InputError
from everlearn.experiments.cells import Tables, hash_agent
from everlearn.experiments.execute import Watcher, execute
from everlearn.experiments.spec import load_spec, read_spec
from everlearn.experiments.variants import make_variants
from everlearn.experiments.work import Threads
from everlearn.results.provenance import arithmetic
from everlearn.tables import settled_table
from tests.refusal import has, refusal
from tests.worlds import pendulum, random_mdp

pytestmark = [  # Dask leaves sockets and event loops to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

EXAMPLES = Path(__file__).parents[2] / "examples"
TASK = {"name": "service-station", "parameters": {"window": 2}}
AGENTS = [{"name": "growing-horizon", "schedule": ["smooth", "change-points"]}, "gradient", "discounted"]


def document(steps: float = 2e4, runs: int = 30) -> dict:
    return {"steps": steps, "runs": runs, "seed": 5, "task": TASK, "agent": AGENTS}


def tables(directory) -> tuple[bytes, ...]:
    return tuple((Path(directory) / name).read_bytes() for name in ("runs.parquet", "summary.parquet"))


@pytest.fixture(scope="module")
def cluster():
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50) as started:
        yield started


@pytest.fixture
def brief(monkeypatch):
    """Legs so short that a job has many."""
    monkeypatch.setattr(cluster_workforce, "FIRST_LEG", 0.05)
    monkeypatch.setattr(cluster_workforce, "LEG", 0.05)


def test_it_gives_what_threads_give(cluster, brief, tmp_path):
    for name, force in (("threads", Threads()), ("cluster", Cluster(cluster.scheduler_address))):
        execute(read_spec(document()), tmp_path / name, workforce=force)
    assert tables(tmp_path / "cluster") == tables(tmp_path / "threads")


@pytest.mark.soak
def test_either_goes_on_from_what_the_other_left(cluster, brief, tmp_path):
    forces = [Threads(), Cluster(cluster.scheduler_address), Threads()]
    for steps, force in zip((1e3, 1.2345e4, 2e4), forces, strict=True):
        spec = read_spec({**document(steps), "agent": AGENTS[:2]})
        execute(spec, tmp_path / "both", workforce=force)
    execute(read_spec({**document(), "agent": AGENTS[:2]}), tmp_path / "threads")
    assert tables(tmp_path / "both") == tables(tmp_path / "threads")


class Killer(Watcher):
    """Kills a worker of a cluster on this machine each time that some more steps have come back."""

    def __init__(self, cluster: Any, every: int, kills: int) -> None:
        self.cluster, self.every, self.left = cluster, every, kills
        self.taken = self.killed = 0

    def steps(self, number: int) -> None:
        self.taken += number
        if self.left and self.taken >= self.every * (self.killed + 1):
            alive = [worker.pid for worker in self.cluster.workers.values() if worker.pid]
            if alive:
                os.kill(alive[self.killed % len(alive)], signal.SIGKILL)
                self.killed += 1
                self.left -= 1


def killed_and_compared(cluster, tmp_path, steps: float, kills: int) -> None:
    watcher = Killer(cluster, int(steps * 30 * 2 / (kills + 2)), kills)
    spec, force = {**document(steps), "agent": AGENTS[:1]}, Cluster(cluster.scheduler_address)
    execute(read_spec(spec), tmp_path / "killed", workforce=force, watcher=watcher)
    execute(read_spec(spec), tmp_path / "threads")
    assert watcher.killed == kills
    assert tables(tmp_path / "killed") == tables(tmp_path / "threads")


@pytest.mark.soak
def test_a_worker_that_is_killed_changes_nothing(cluster, brief, tmp_path):
    killed_and_compared(cluster, tmp_path, steps=1e5, kills=1)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore:.* has no workers left")  # if the last was killed before another had come
@pytest.mark.parametrize("seed", range(4))
def test_workers_that_are_killed_again_and_again_change_nothing(cluster, brief, tmp_path, seed):
    killed_and_compared(cluster, tmp_path, steps=2e6 + seed, kills=10)


def test_a_stop_leaves_what_came_back(cluster, brief, tmp_path):
    stop = threading.Event()

    class Stopping(Watcher):
        def steps(self, number):
            stop.set()

    spec = read_spec(document(2e5))
    execute(spec, tmp_path, workforce=Cluster(cluster.scheduler_address), watcher=Stopping(), stop=stop)
    status = el.Experiment(tmp_path).status
    assert 0 < status["steps_done"] < status["steps"]


def differing():
    """A function without a name to import it by, so that it is sent itself."""

    def differ(value: str) -> None:
        from everlearn.cluster import legs

        legs.arithmetic = lambda: value

    return differ


@pytest.mark.soak
def test_a_worker_whose_arithmetic_differs_is_refused(cluster, brief, tmp_path):
    from distributed import Client

    spec = read_spec(document(1e6))  # so many legs that every worker has some
    with Client(cluster) as client:
        client.wait_for_workers(2)
        other = sorted(client.nthreads())[0]
        client.run(differing(), "another", workers=[other])
        try:
            with pytest.warns(WorkerWarning) as warned:
                execute(spec, tmp_path / "some", workforce=Cluster(cluster.scheduler_address))
            assert [warning.message.worker for warning in warned] == [other]
            client.run(differing(), "another")
            with (
                pytest.warns(WorkerWarning),
                pytest.raises(ClusterError, check=has(worker=other)),
            ):
                execute(spec, tmp_path / "none", workforce=Cluster(cluster.scheduler_address))
        finally:
            client.run(differing(), arithmetic())
    execute(spec, tmp_path / "threads")
    assert tables(tmp_path / "some") == tables(tmp_path / "threads")


def test_a_worker_with_another_version_of_the_agent_refuses():
    variant = make_variants(read_spec(document()))[0]
    table = settled_table(variant.plan.task)
    order = replace(make_order(variant, (0,), table.indexed, None), agent_hash="of another version")
    refused = run_leg(order, pack_table(table, variant), None)
    assert refused.reason == "its agent 'growing-horizon' is another version"


@pytest.mark.soak
def test_an_agent_of_ones_own_is_found_beside_the_spec(cluster, tmp_path, monkeypatch):
    for name in ("own_agent.py", "random_worlds.py"):
        shutil.copy(EXAMPLES / name, tmp_path)
        monkeypatch.delitem(sys.modules, name.removesuffix(".py"), raising=False)  # imported from elsewhere, perhaps
    text = (EXAMPLES / "family.toml").read_text().replace("1e5", "2e3").replace("instance = 30", "instance = 3")
    (tmp_path / "spec.toml").write_text(text)
    spec = load_spec(tmp_path / "spec.toml")
    for name, force in (("cluster", workforce(None, cluster.scheduler_address, spec.folder)), ("threads", Threads())):
        execute(spec, tmp_path / name, workforce=force)
    assert tables(tmp_path / "cluster") == tables(tmp_path / "threads")


@pytest.mark.soak
def test_a_search_finds_the_same(cluster):
    search = {"schedule": {"horizon_scale": {"low": 1, "high": 9, "scale": "log"}}}
    agent = {"name": "growing-horizon", "schedule": "smooth"}
    spec = {"steps": 200, "runs": 2, "candidates": 3, "task": "riverswim", "agent": agent, "search": search}
    assert el.tune(spec, cluster=cluster.scheduler_address).tried() == el.tune(spec).tried()


@pytest.mark.soak
def test_a_local_cluster_is_started_and_ended(tmp_path):
    one = el.experiment("riverswim", "always", steps=100, runs=2, cluster="local:1")
    other = el.experiment("riverswim", "always", steps=100, runs=2)
    assert one.arms[0].total_reward.tolist() == other.arms[0].total_reward.tolist()


@pytest.mark.parametrize(
    ("task", "refused"),
    [
        (pendulum().finish(), ("--cluster", "one")),
        (lambda: el.task, ("task[1], task", "<lambda>")),
    ],
    ids=["no model", "no task"],
)
def test_what_cannot_travel_is_refused(cluster, tmp_path, task, refused):
    spec = {**document(100), "task": {"name": task, "label": "one"}, "agent": "growing-horizon"}
    with pytest.raises(InputError, check=refusal(*refused)):
        execute(read_spec(spec), tmp_path, workforce=Cluster(cluster.scheduler_address))


def test_functions_do_not_travel(cluster, tmp_path):
    from everlearn.agents.registry import make_design

    spec = {**document(100), "agent": {"name": make_design("always"), "label": "mine"}}
    with pytest.raises(InputError, check=refusal("agent", "mine")):
        execute(read_spec(spec), tmp_path, workforce=Cluster(cluster.scheduler_address))


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        (("somewhere",), ("--cluster", "somewhere")),
        (("local:0",), ("--cluster local", "0")),
        (("local:x",), ("--cluster local", "x")),
        (("local:2", 3), ("--threads", 3)),
    ],
    ids=["no address", "no workers", "no number", "threads"],
)
def test_a_wrong_address_is_refused(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        Cluster(*arguments)


def test_an_address_where_nobody_is(monkeypatch):
    monkeypatch.setattr(cluster_workforce, "PATIENCE", 0.5)
    with (
        pytest.raises(InputError, check=refusal("--cluster", "tcp://127.0.0.1:9")),
        Cluster("tcp://127.0.0.1:9").open(),
    ):
        pass


def test_a_table_travels_whole():
    task = random_mdp(1)
    variant = make_variants(read_spec({"steps": 10, "task": task, "agent": "growing-horizon"}))[0]
    table = Tables(1000).of(task)
    packed = pack_table(table, variant)
    arrived = unpack_table(packed)
    assert arrived.digest() == table.digest()
    assert numba.typeof(arrived.rows) == numba.typeof(table.rows)  # so that compiled code in the cache is used
    assert arrived.indexed.states == 3
    with pytest.raises(ClusterError):
        unpack_table(replace(packed, start=1))
    with pytest.raises(ClusterError):
        arrived.task.reward(0, 0, 0)
    design = variant.plan.design
    assert hash_agent(design, design.build(arrived.indexed)) == hash_agent(design, design.build(table.indexed))
