"""Mistakes in agents of a user's own, and in schedules."""

from __future__ import annotations

from tests.boundary.mistake import Mistake

MISTAKES = [
    Mistake(
        group="agents",
        title="an agent that does not exist",
        files={},
        call="everlearn run riverswim --agent growing-horizont --steps 100 --engine {engine}",
        answer=(
            "agent: 'growing-horizont'; known: always, curvature, differential-q, discounted, discounted-subroutine, "
            "gradient, growing-horizon, optimistic-q, q-learning, r-learning, static, tsde, ucb-h, ucrl2 "
            "(did you mean growing-horizon?); or name your own as module:attribute"
        ),
    ),
    Mistake(
        group="agents",
        title="a script that asks for a negative number of steps",
        files={"mine.py": "import everlearn as el\n\nel.run('riverswim', steps=-5)\n"},
        call="python mine.py",
        answer="steps: -5; give a whole number of at least 1",
    ),
]
