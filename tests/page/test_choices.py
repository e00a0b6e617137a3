"""Which agent is suggested for a comparison."""

from __future__ import annotations

from dataclasses import replace

from everlearn.page.choices import PAPERS, suggest
from everlearn.page.configuration import MOST_AGENTS, Configuration, label


def test_the_papers_agent_is_suggested_first_and_none_twice():
    shown = Configuration()
    assert suggest(shown) == PAPERS
    assert label(suggest(Configuration(agents=(PAPERS,)))) == "growing-horizon, practical"
    for _ in range(MOST_AGENTS - 1):
        shown = replace(shown, agents=(*shown.agents, suggest(shown)))
    assert len({label(agent) for agent in shown.agents}) == MOST_AGENTS
    assert shown.checked() == shown
