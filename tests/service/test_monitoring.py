"""The dashboard and the alerts of the examples: they ask for metrics that there are, in words that Prometheus reads."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

EXAMPLES = Path(__file__).parents[2] / "examples"
DASHBOARD = json.loads((EXAMPLES / "grafana.json").read_text())
RULES = yaml.safe_load((EXAMPLES / "alerts.yml").read_text())["groups"][0]["rules"]
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
VARIABLES = [variable["query"] for variable in DASHBOARD["templating"]["list"] if variable["type"] == "query"]
ALERTS = [rule["expr"] for rule in RULES]

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="PROMTOOL IS NOT INSTALLED HERE")


@pytest.fixture(scope="module")
def exposed(service) -> dict[str, set[str]]:
    """The names of the metrics that a service exposes, and the labels of each."""
    service.create("watched")
    service.post("/v1/agents/watched/observe", {"step": 1, "observation": "arrival"})
    found: dict[str, set[str]] = {}
    for line in service.call("GET", "/metrics").body.decode().splitlines():
        if not line.startswith("#"):
            name, labels = re.match(r"(\w+)(\{.*\})?", line).groups()
            found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels or ""))
    return found


@pytest.mark.parametrize("query", [*QUERIES, *VARIABLES, *ALERTS])
def test_every_query_names_what_there_is(query, exposed):
    names = re.findall(r"\beverlearn_\w+", query)
    assert names or query.startswith("up{")
    for name in names:
        assert name in exposed
        (selector,) = re.findall(rf"\b{name}\b(?:\{{(.*?)\}})?", query)[:1]
        assert {*re.findall(r"(\w+)=", selector)} - {"job", "instance"} <= exposed[name]
    for label in re.findall(r"by \(([^)]*)\)", query):
        assert {*re.split(r",\s*", label)} <= {"instance"}.union(*(exposed[name] for name in names))


def test_what_a_service_exposes_is_shown_or_watched(exposed):
    """A metric that nobody looks at is a mistake in one of the two files, or is not worth its line."""
    asked = {*re.findall(r"\beverlearn_\w+", " ".join([*QUERIES, *ALERTS]))}
    left = {re.sub("_(bucket|sum|count)$", "", name) for name in exposed}
    left -= {name.removesuffix("_bucket") for name in asked}
    assert left == {"everlearn_agent_t"}  # the agent's own time, which stands still while it is frozen


def test_panels_do_not_overlap():
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len({*cells})
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def promtool(*arguments: object) -> None:
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_prometheus_reads_the_rules_and_every_query_of_the_dashboard(tmp_path):
    promtool("check", "rules", EXAMPLES / "alerts.yml")
    shown = [query.replace("$__rate_interval", "5m").replace("$job", ".*").replace("$agent", ".*") for query in QUERIES]
    rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(shown)]
    path = tmp_path / "queries.yml"
    path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool("check", "rules", path)


SERIES = {  # values of a service that is well, and of one on which everything fails; minute by minute
    'up{job="everlearn", instance="a"}': ("1x200", "0x200"),
    'everlearn_ready{instance="a"}': ("1x200", "0x200"),
    'everlearn_failed_commits_total{instance="a"}': ("3x200", "0+1x200"),
    'everlearn_refused_total{instance="a"}': ("3x200", "0+1x200"),
    'everlearn_limited_total{instance="a"}': ("3x200", "0+1x200"),
    'everlearn_waiting{instance="a"}': ("700x200", "900x200"),
    'everlearn_waiting_most{instance="a"}': ("1000x200", "1000x200"),
    'everlearn_commit_seconds_bucket{instance="a", le="0.5"}': ("0+9x200", "0+1x200"),
    'everlearn_commit_seconds_bucket{instance="a", le="1.0"}': ("0+9x200", "0+9x200"),
    'everlearn_commit_seconds_bucket{instance="a", le="+Inf"}': ("0+9x200", "0+9x200"),
    'everlearn_agent_quarantined{instance="a", agent="north"}': ("0x200", "1x200"),
    'everlearn_agent_drift_alarms{instance="a", agent="north"}': ("2x200", "2x170 3x30"),
    'everlearn_agent_step{instance="a", agent="north"}': ("0+60x200", "7x200"),
    'everlearn_requests_total{instance="a", status="409"}': ("0+1x200", "0+60x200"),
    'everlearn_requests_total{instance="a", status="401"}': ("0+1x200", "0+60x200"),
    'everlearn_requests_total{instance="a", status="200"}': ("0+6000x200", "0+6000x200"),
    'everlearn_token_file_valid{instance="a"}': ("1x200", "0x200"),
    'everlearn_token_expiry_time_seconds{instance="a"}': ("10000000000x200", "86400x200"),
}


@pytest.mark.soak
@needs_promtool
@pytest.mark.parametrize("fails", [False, True])
def test_every_alert_is_raised_where_it_should_be_and_only_there(tmp_path, fails):
    """By Prometheus itself, on series that are made up."""
    given = [{"series": series, "values": values[fails]} for series, values in SERIES.items()]
    raised = [{"labels": f'{{alertname="{rule["alert"]}"}}', "value": 1} for rule in RULES if fails]
    query = 'count by (alertname) (ALERTS{alertstate="firing"})'
    tests = [{"expr": query, "eval_time": "180m", "exp_samples": raised}]
    document = {
        "rule_files": [str(EXAMPLES / "alerts.yml")],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": given, "promql_expr_test": tests}],
    }
    path = tmp_path / "tests.yml"
    path.write_text(json.dumps(document))
    promtool("test", "rules", path)
