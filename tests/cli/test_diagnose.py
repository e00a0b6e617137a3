"""The command ``everlearn diagnose``."""

from __future__ import annotations

import pytest

SMALL = ("diagnose", "riverswim", "--agent", "always", "--steps", "60", "--runs", "2")


def test_a_person_reads_each_part_and_their_sum(call, tmp_path):
    figure = tmp_path / "parts.png"
    text = " ".join(call(*SMALL, "--figure", str(figure)).split())
    for words in ("actions", "no horizon", "distortion", "horizon", "averaging", "luck", "their sum"):
        assert words in text
    assert figure.stat().st_size > 5000


def test_json_adds_up(call_json):
    document = call_json(*SMALL)
    total = sum(curve[-1] for curve in document["parts"].values())
    assert total == pytest.approx(document["regret"][-1], abs=1e-9)


def test_it_says_how_optimistic_values_were(call):
    text = " ".join(call("diagnose", "riverswim", "--schedule", "smooth", "--steps", "60", "--runs", "1").split())
    assert "No value was below the optimal one of its horizon at the 27 steps that were looked at. At step" in text
    assert "Actions are judged over the agent's own horizon, 1.5 at first and " in text
    assert "60 steps, 1 run " in text
    pessimist = ("--set", "agent.q_init=0", "--set", "agent.optimism=0", "--set", "agent.horizon=2")
    words = ("diagnose", "riverswim", "--agent", "discounted-subroutine", "--steps", "20", "--runs", "1")
    short = call(*words, *pessimist)
    assert "at step 1, where Lemma 11 allows 0." in " ".join(short.split())
    assert "Lemma 11" not in call(*SMALL)


def test_it_says_over_which_horizon_actions_are_judged(call):
    text = call("diagnose", "riverswim", "--agent", "q-learning", "--steps", "20", "--runs", "1")
    assert (
        "Actions are judged over the agent's own horizon, 10. The best policy over a horizon of 10 earns 0.4286 "
        in (" ".join(text.split()))
    )


def test_it_says_if_the_optimum_is_that_of_who_sees_the_memory(call, call_json):
    hidden = ("diagnose", "tiger", "--agent", "always", "--steps", "20", "--runs", "1")
    assert "relative to 10, the optimum if the memory were seen" in " ".join(call(*hidden).split())
    assert call_json(*hidden)["optimum"] == pytest.approx(10)
    assert "if the memory were seen" not in call(*SMALL)


@pytest.mark.soak
def test_the_frontier_is_printed_and_drawn(call, tmp_path):
    figure = tmp_path / "frontier.png"
    text = call("theory", "riverswim", "--frontier", "--figure", str(figure))
    assert "The best policies within an averaging time" in text
    assert figure.stat().st_size > 5000
