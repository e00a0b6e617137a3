"""The station against Appendix B and against a simulation that keeps nothing but a list of service times."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.environments.model import ModelEnvironment
from everlearn.environments.service_station import (
    ARRIVAL,
    BOTH,
    DEPARTURE,
    FAST,
    NOTHING,
    SLOW,
    ServiceStation,
    longest_service,
)
from everlearn.errors import InputError
from everlearn.tasks.service_station import service_station
from tests.chains import reachable
from tests.refusal import refusal
from tests.worlds import environment_stream

P = {w: 0.1 + 0.9 * math.exp(-10 * (w - 1)) for w in range(1, 9)}
"""The arrival probability of Appendix B, by W."""


def probabilities(station: ServiceStation, history: list[tuple[str, str]], action: str) -> dict[str, float]:
    """What can follow a history and an action."""
    model = station.model().after(history)
    return {outcome.observation: outcome.probability for outcome in model.outcomes(model.memory, action)}


def service(steps: int, last: str = BOTH) -> list[tuple[str, str]]:
    """A service that takes so many steps, slow, and what is observed when it is over."""
    return [(SLOW, NOTHING)] * (steps - 1) + [(SLOW, last)]


ARRIVED = [(SLOW, ARRIVAL)]


def test_it_begins_vacant_with_w_one():
    for action in (FAST, SLOW):
        assert probabilities(ServiceStation(), [], action) == {ARRIVAL: 1.0}


def test_a_service_of_one_step_leaves_w_at_one():
    history = ARRIVED + 3 * service(1)
    assert probabilities(ServiceStation(), history, FAST) == {BOTH: 1.0}


@pytest.mark.parametrize("w", [2, 3, 4, 5])
def test_the_table_of_a_vacant_station(w):
    history = ARRIVED + service(w) + [(FAST, DEPARTURE)]
    for action in (FAST, SLOW):
        assert probabilities(ServiceStation(), history, action) == pytest.approx({ARRIVAL: P[w], NOTHING: 1 - P[w]})


@pytest.mark.parametrize("w", [2, 3, 4, 5])
def test_the_tables_of_a_station_with_a_customer(w):
    history = ARRIVED + service(w)
    fast = {BOTH: P[w], DEPARTURE: 1 - P[w]}
    slow = {BOTH: P[w] / 2, DEPARTURE: (1 - P[w]) / 2, NOTHING: 1 / 2}
    assert probabilities(ServiceStation(), history, FAST) == pytest.approx(fast)
    assert probabilities(ServiceStation(), history, SLOW) == pytest.approx(slow)


def test_the_arrival_at_the_end_of_a_step_uses_w_before_its_departure():
    history = ARRIVED + [(SLOW, NOTHING)] * 2
    assert probabilities(ServiceStation(), history, SLOW) == pytest.approx({BOTH: 0.5, NOTHING: 0.5})
    after = [*history, (SLOW, BOTH)]
    assert probabilities(ServiceStation(), after, FAST) == pytest.approx({BOTH: P[3], DEPARTURE: 1 - P[3]})


@pytest.mark.parametrize("window", [1, 2, 5, 12])
def test_a_long_service_is_forgotten_after_a_window_of_customers(window):
    station = ServiceStation(window=window)
    history = ARRIVED + service(2)
    for _ in range(window):
        assert probabilities(station, history, FAST) == pytest.approx({BOTH: P[2], DEPARTURE: 1 - P[2]})
        history = [*history, (FAST, BOTH)]
    assert probabilities(station, history, FAST) == {BOTH: 1.0}


def test_fewer_than_a_window_served_count_alone():
    history = ARRIVED + service(1) + service(4) + service(2)
    assert probabilities(ServiceStation(), history, FAST) == pytest.approx({BOTH: P[4], DEPARTURE: 1 - P[4]})


def test_the_mode_may_change_during_a_service():
    history = [*ARRIVED, (SLOW, NOTHING), (SLOW, NOTHING), (FAST, BOTH)]
    assert probabilities(ServiceStation(), history, FAST) == pytest.approx({BOTH: P[3], DEPARTURE: 1 - P[3]})


def test_steps_while_vacant_are_no_service():
    history = [*ARRIVED, *service(2), (FAST, DEPARTURE), *[(SLOW, NOTHING)] * 7, (SLOW, ARRIVAL), (SLOW, BOTH)]
    assert probabilities(ServiceStation(), history, FAST) == pytest.approx({BOTH: P[2], DEPARTURE: 1 - P[2]})


def test_there_are_10920_memories():
    assert len({memory for memory, _ in reachable(service_station())}) == 10_920


def test_the_cap_of_five_loses_nothing():
    station = ServiceStation()
    assert station.cap == 5
    assert {station.arrival_probability(w) for w in range(5, 100)} == {0.1}
    assert station.arrival_probability(4) > 0.1


@pytest.mark.parametrize("decay", [0.05, 0.5, 3.0, 10.0, 40.0])
def test_the_default_cap_loses_nothing_elsewhere(decay):
    station = ServiceStation(decay=decay)
    if station.cap < 400:
        assert station.arrival_probability(station.cap) == station.floor
        assert station.cap == 2 or station.arrival_probability(station.cap - 1) > station.floor
    else:  # so slow a decay would need a longer memory than is kept; what is lost is small
        assert station.arrival_probability(station.cap) == pytest.approx(station.floor, abs=1e-8)


def simulated(station: ServiceStation, actions: Iterable[str], seed: int) -> Iterable[tuple[str, int]]:
    """What is observed, and W after it, from the draws and the list of all service times: nothing else is kept."""
    draws, served, elapsed = environment_stream(seed), [], None
    for action in actions:
        w = max(served[-station.window :], default=1)
        arrival = station.floor + station.height * math.exp(-station.decay * (w - 1))
        draw = draws.random()
        if elapsed is None:
            arrives, departs = draw < arrival, False
        else:
            done = 1.0 if action == FAST else station.slow_completion
            arrives, departs = draw < done * arrival, draw < done * arrival + done * (1 - arrival) or done == 1
            elapsed += 1
        if departs:
            served.append(elapsed)
        if arrives or departs:
            elapsed = 0 if arrives else None
        seen = {(True, True): BOTH, (True, False): ARRIVAL, (False, True): DEPARTURE, (False, False): NOTHING}
        yield seen[arrives, departs], max(served[-station.window :], default=1)


def check_against_simulation(station: ServiceStation, actions: list[str], seed: int) -> None:
    environment = ModelEnvironment(station.model())
    environment.start(environment_stream(seed))
    for action, (observation, w) in zip(actions, simulated(station, actions, seed), strict=True):
        assert environment.step(action) == observation
        assert longest_service(environment.memory[1]) == min(w, station.cap)


@st.composite
def stations(draw):
    floor = draw(st.floats(0.05, 1))
    return ServiceStation(
        window=draw(st.integers(1, 15)),
        slow_completion=draw(st.floats(0.05, 1)),
        floor=floor,
        height=draw(st.floats(0, 1 - floor)),
        decay=draw(st.sampled_from([0.3, 1.0, 2.5, 10.0, 60.0])),
    )


modes = st.lists(st.sampled_from([FAST, SLOW, SLOW, SLOW]), min_size=1, max_size=300)
seeds = st.integers(0, 2**32)


@settings(max_examples=60)
@given(station=stations(), actions=modes, seed=seeds)
def test_the_model_is_the_simulation(station, actions, seed):
    check_against_simulation(station, actions, seed)


@pytest.mark.soak
@settings(max_examples=3000)
@given(station=stations(), actions=modes, seed=seeds)
def test_the_model_is_the_simulation_often(station, actions, seed):
    check_against_simulation(station, actions, seed)


def test_the_model_is_the_simulation_for_long():
    check_against_simulation(ServiceStation(), [SLOW] * 20_000, seed=1)
    check_against_simulation(ServiceStation(longest=9), [SLOW] * 5000, seed=2)


def test_a_larger_cap_changes_no_observation():
    seen = []
    for longest in (None, 8):
        environment = ModelEnvironment(ServiceStation(longest=longest).model())
        environment.start(environment_stream(4))
        seen.append([environment.step(SLOW) for _ in range(10_000)])
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({"window": 0}, ("window", 0)),
        ({"slow_completion": 0}, ("slow_completion", 0)),
        ({"slow_completion": 1.5}, ("slow_completion", 1.5)),
        ({"floor": 0}, ("arrival_floor", 0)),
        ({"height": 0.95}, ("arrival_height", 0.95)),
        ({"height": -0.1}, ("arrival_height", -0.1)),
        ({"decay": 0}, ("arrival_decay", 0)),
        ({"decay": math.nan}, ("arrival_decay",)),
        ({"longest": 1}, ("cap", 1)),
    ],
)
def test_what_is_refused(arguments, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        ServiceStation(**arguments)


def test_an_infinite_decay_is_refused():
    with pytest.raises(InputError, check=refusal("arrival_decay")):
        ServiceStation(decay=math.inf)
