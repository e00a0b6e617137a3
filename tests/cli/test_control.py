"""``everlearn mode`` and ``everlearn promotion``, on a directory; tests/service has them on a service."""

from __future__ import annotations

import json
import random
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from typer.testing import CliRunner

import everlearn as el
from everlearn.cli import control
from everlearn.cli.main import app
from everlearn.cli.remote import read_token
from everlearn.errors import Held, InputError
from tests.refusal import has


@pytest.fixture
def machine(tmp_path):
    """A directory with one agent, which has learned for a few steps."""
    given = {"actions": ["slow", "fast"], "observations": ["idle", "busy"], "reward_range": (0, 1), "reward": "given"}
    with el.live(tmp_path / "machine", **given, seed=1) as agent:
        for _ in range(3):
            agent.act()
            agent.observe("idle", reward=0.5)
    return str(tmp_path / "machine")


def test_a_mode_is_printed_and_changed_once(call, call_json, machine):
    assert call("mode", machine) == "agent agent: learn, at step 3\nno promotion rule\n"
    for _ in range(2):
        assert call("mode", machine, "shadow").startswith("agent agent: shadow, at step 3\n")
    with el.live(machine) as agent:
        assert agent.mode == "shadow"
    rows = [
        row["to"] for row in map(json.loads, call("journal", machine, "--json").splitlines()) if row["kind"] == "mode"
    ]
    assert rows == ["shadow"]
    assert call_json("mode", machine, "frozen") == {"name": "agent", "step": 3, "mode": "frozen", "promotion": None}


def test_a_rule_is_set_and_removed(call, call_json, machine):
    set_ = call_json("promotion", machine, "--set", "gain=0.05", "--set", "to=learn", "--set", "demote=false")
    rule = set_["promotion"]["rule"]
    assert (rule["gain"], rule["to"], rule["demote"]) == (0.05, "learn", False)
    assert call_json("promotion", machine) == set_
    assert call_json("promotion", machine, "--remove")["promotion"] is None
    lines = [line.split("  mode ")[1] for line in call("journal", machine).splitlines() if "  mode " in line]
    assert lines == ["learn (promotion rule set)", "learn (promotion rule removed)"]


def decide(agent: el.Live, going_on) -> None:
    """Let a controller decide that does not look at the mode; fast earns more."""
    draw = random.Random(1)
    while going_on() and agent.step < 2000:
        action = draw.choice(["slow", "fast"])
        agent.act()
        agent.observe(draw.choice(["idle", "busy"]), executed=action, reward=0.75 if action == "fast" else 0.25)


def test_a_controller_that_does_not_look_at_the_mode_is_noticed(call, machine, caplog):
    call("mode", machine, "shadow")
    call("promotion", machine, "--set", "every=60", "--set", "error=0.5")
    with el.live(machine) as agent:
        decide(agent, lambda: agent.mode == "shadow")
        assert caplog.text == ""
        end = agent.step + 130
        decide(agent, lambda: agent.step < end)
    assert "does the controller look at the mode?" in caplog.text
    shown = CliRunner().invoke(app, ["promotion", machine])
    assert "it is demoted if the upper end is below 0" in shown.stdout
    assert "does the controller look at the mode?" in shown.stderr


def test_a_promotion_is_undone(call, call_json, machine):
    call("mode", machine, "shadow")
    call("promotion", machine, "--set", "every=60", "--set", "error=0.5")
    with el.live(machine) as agent:
        decide(agent, lambda: agent.mode == "shadow")
        assert agent.mode == "frozen"
    assert call_json("promotion", machine)["promotion"]["in_control"]
    assert "rule: gain above 0 for 0 steps and 0 hours, a look every 60 steps, error 0.5" in call("promotion", machine)
    for _ in range(2):
        assert "demoted by an operator" in call("promotion", machine, "--demote")
    lines = call("journal", machine).splitlines()
    assert [line for line in lines if "demoted" in line] == [lines[-1]]
    assert lines[-1].endswith("mode shadow (demoted: an operator)")
    after = call_json("mode", machine)
    assert (after["mode"], after["promotion"]["armed"]) == ("shadow", False)


def test_mistakes(refused, machine):
    assert refused("mode", machine, "fast") == "MODE: 'fast'; known: learn, frozen, shadow"
    assert refused("promotion", machine, "--set", "gain=much") == "promotion.gain: 'much'; give a number"
    assert refused("promotion", machine, "--set", "gain=1", "--remove").startswith("--remove: True; give one of --set,")
    assert "the agent was never promoted" in refused("promotion", machine, "--demote")
    with el.live(machine):
        assert "has it open" in refused("mode", machine, "shadow")
    assert refused("promotion", machine, "--set", "gian=1").endswith("(did you mean gain?)")


def test_what_is_only_printed_may_be_in_use(call, call_json, machine):
    alone = call_json("promotion", machine)
    with el.live(machine):
        assert call("mode", machine) == "agent agent: learn, at step 3\nno promotion rule\n"
        assert call_json("promotion", machine) == call_json("mode", machine) == alone


def test_a_mode_may_be_named_by_its_verb(call, machine):
    assert call("mode", machine, "freeze").startswith("agent agent: frozen")


def test_a_token_file_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "token").write_bytes(b"abc\xff\xfe\n")
    with pytest.raises(InputError) as refused:
        read_token(str(tmp_path / "token"))
    assert refused.value.argument == "--token-file"


def test_any_number_of_brackets_is_a_text():
    assert control._value("[" * 100_000) == "[" * 100_000
    assert control._value("[1]") == [1]


def test_who_holds_a_directory_is_said_whatever_its_name(tmp_path):
    place = tmp_path / "a; b"
    refused = pytest.raises(Held, check=has(path=place))
    with el.live(place, "service-station"), refused, control._control(str(place), None, None, 1.0):
        pass


class Service(BaseHTTPRequestHandler):
    """A service with some agents."""

    names: tuple[str, ...] = ()

    def do_GET(self):
        body = json.dumps({"agents": [{"name": name} for name in self.names]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):
        """Print nothing."""


@contextmanager
def serving(*names: str):
    """Yield the address of a service that answers one request for its agents."""
    with HTTPServer(("127.0.0.1", 0), type("Handler", (Service,), {"names": names})) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        thread.join()


@pytest.mark.parametrize("scheme", ["http", "HTTP"])
def test_the_only_agent_of_a_service_need_not_be_named(scheme):
    with serving("pump") as address, control._control(f"{scheme}://{address}", None, None, 60.0) as found:
        assert found.agent == "pump"


@pytest.mark.parametrize("number", [0, 2, 99])
def test_several_agents_of_a_service_are_listed(number):
    names = [f"pump-{each}" for each in range(number)]
    with (
        serving(*names) as address,
        pytest.raises(InputError) as refused,
        control._control(f"http://{address}", None, None, 60.0),
    ):
        pass
    assert refused.value.argument == "--agent"
    assert all(name in refused.value.remedy for name in names[:20])
    assert ("..." in refused.value.remedy) == (number > 20)


@pytest.mark.parametrize("command", ["mode http://127.0.0.1:9 frozen", "move http://127.0.0.1:9 pump --shard 1"])
def test_a_service_that_cannot_be_reached_is_one_line(runner, tmp_path, command):
    done = runner(f"everlearn {command} --deadline 0.05", tmp_path, {})
    assert (done.status, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "no answer within 0.05 seconds" in done.stderr
