"""Who is let in, how much is taken, and what is told."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from types import SimpleNamespace

import pytest
from starlette.exceptions import HTTPException

from everlearn.errors import InputError
from everlearn.service.guard import MOST_LARGE, READING, SMALL, Guard, is_deep
from everlearn.service.metrics import Metrics
from everlearn.service.problems import answer_to
from everlearn.service.protocol import ARRIVED, OPEN
from everlearn.service.router import Operation
from everlearn.service.settings import Limits, Settings
from everlearn.service.tokens import Tokens
from tests.refusal import refusal
from tests.service.conftest import STATION, Service, until

TOKEN, OTHER = "0123456789abcdef", "fedcba9876543210"


def token_file(folder, text):
    """Put a file of tokens in its place, whole, as an operator should."""
    new = folder / "tokens.new"
    new.write_text(text)
    new.chmod(0o600)
    return new.replace(folder / "tokens")


@pytest.fixture(scope="module")
def guarded(runner, tmp_path_factory):
    """A service with a token and small limits."""
    folder = tmp_path_factory.mktemp("guarded")
    tokens = token_file(folder, TOKEN)
    limits = {"agents": 2, "body": 5000, "labels": 50, "states": 40, "values": 60, "rows": 8, "state": 3000}
    options = [text for name, value in limits.items() for text in (f"--max-{name}", str(value))]
    running = Service(runner, folder / "data", "--token-file", str(tokens), "--allow-host", "agents.example", *options)
    yield running
    running.kill()


def asked(guarded, method, path, body=None, **headers):
    return guarded.call(method, path, body, Authorization=f"Bearer {TOKEN}", **headers)


class TestTokens:
    def test_without_one_nothing_is_told(self, guarded):
        for path in ("/v1/agents", "/metrics", "/openapi.json", "/v1/agents/a/act", "/nothing"):
            reply = guarded.call("GET", path)
            assert (reply.status, reply.json["error"]) == (401, "token")
            assert reply.headers["www-authenticate"] == "Bearer"

    def test_a_wrong_one_is_none(self, guarded):
        assert guarded.call("GET", "/v1/agents", Authorization=f"Bearer {OTHER}").status == 401

    def test_whether_it_is_there_may_be_asked_by_anybody(self, guarded):
        assert [guarded.call("GET", path).status for path in ("/healthz", "/readyz")] == [200, 200]

    def test_with_it_all_is_open(self, guarded):
        assert asked(guarded, "GET", "/v1/agents").status == 200

    def test_the_description_says_which_scope_each_operation_needs(self, guarded):
        described = asked(guarded, "GET", "/openapi.json").json
        needs = {
            (method, path): operation["security"]
            for path, methods in described["paths"].items()
            for method, operation in methods.items()
        }
        assert "security" not in described
        assert needs["get", "/healthz"] == needs["get", "/readyz"] == []
        assert needs["post", "/v1/agents/{name}/step"] == [{"token": ["act"]}]
        assert needs["delete", "/v1/agents/{name}"] == [{"token": ["admin"]}]
        reading = [need for (method, path), need in needs.items() if method == "get" and path not in OPEN]
        assert reading == [[{"token": ["read"]}]] * len(reading)

    def test_each_scope_grants_what_the_table_says_and_no_more(self, start, tmp_path):
        """Every operation, with a token of every scope: 403 exactly where the scope is less than the description's."""
        scopes = ("read", "act", "admin")
        written = "".join(f"{scope}-0123456789abcdef scope={scope}\n" for scope in scopes)
        service = start("--token-file", str(token_file(tmp_path, written)))
        described = service.call("GET", "/openapi.json", Authorization="Bearer read-0123456789abcdef").json
        for path, methods in described["paths"].items():
            for method, operation in methods.items():
                for scope in scopes:
                    asked = service.call(
                        method.upper(), path.replace("{name}", "a"), Authorization=f"Bearer {scope}-0123456789abcdef"
                    )
                    needed = operation["security"][0]["token"][0] if operation["security"] else "read"
                    refused = asked.status == 403 and asked.json["error"] == "scope"
                    assert refused == (scopes.index(scope) < scopes.index(needed)), (path, method, scope, asked)

    def test_a_token_for_some_agents_sees_no_others(self, start, tmp_path):
        service = start("--token-file", str(token_file(tmp_path, f"{TOKEN}\n{OTHER} agents=pump-*\n")))
        every, some = ({"Authorization": f"Bearer {token}"} for token in (TOKEN, OTHER))
        assert service.call("POST", "/v1/agents", {"name": "north", "setup": STATION}, **every).status == 201
        assert service.call("POST", "/v1/agents", {"name": "pump-1", "setup": STATION}, **some).status == 201
        for reply in (
            service.call("POST", "/v1/agents", {"name": "south", "setup": STATION}, **some),
            service.call("POST", "/v1/agents/north/act", **some),
            service.call("GET", "/v1/agents/none", **some),
        ):
            assert (reply.status, reply.json["error"]) == (403, "scope")
        assert service.call("POST", "/v1/agents/pump-1/act", **some).status == 200
        assert service.call("POST", "/v1/agents/north/act", **every).status == 200
        names = [
            [agent["name"] for agent in service.call("GET", "/v1/agents", **one).json["agents"]]
            for one in (every, some)
        ]
        assert names == [["north", "pump-1"], ["pump-1"]]
        pages = [service.call("GET", "/metrics", **one).body for one in (every, some)]
        assert [b'agent="north"' in page for page in pages] == [True, False]
        assert b'agent="pump-1"' in pages[1]

    def test_a_file_that_changes_is_read_again(self, start, tmp_path):
        path = token_file(tmp_path, TOKEN)
        service = start("--token-file", str(path), before="import everlearn.service.app as app; app.WATCH = 0.01\n")
        token_file(tmp_path, f"{TOKEN}\n{OTHER} expires=2999-01-31\n")
        assert service.logged("tokens reread")["tokens"] == 2
        other = {"Authorization": f"Bearer {OTHER}"}
        assert service.call("GET", "/v1/agents", **other).status == 200
        token_file(tmp_path, f"{TOKEN} scope=write\n")
        assert "line 1: scope: 'write'; known: act, admin, read" in service.logged("tokens not reread")["error"]
        page = service.call("GET", "/metrics", **other).body.decode()
        assert {
            "everlearn_token_file_valid 0",
            "everlearn_tokens 2",
            "everlearn_token_expiry_time_seconds 32474736000",
        } <= {*page.splitlines()}
        token_file(tmp_path, OTHER)
        until(lambda: service.call("GET", "/v1/agents", Authorization=f"Bearer {TOKEN}").status == 401)
        assert service.call("GET", "/v1/agents", **other).status == 200
        assert TOKEN not in service.written

    def test_it_can_be_replaced_while_running(self, start, tmp_path):
        tokens = token_file(tmp_path, TOKEN)
        service = start("--token-file", str(tokens), before="import everlearn.service.app as app; app.WATCH = 1e9\n")
        tokens.write_text(f"{TOKEN}\n{OTHER}\n")
        os.kill(service.pid, signal.SIGHUP)
        service.logged("tokens reread")
        assert service.call("GET", "/v1/agents", Authorization=f"Bearer {OTHER}").status == 200
        tokens.chmod(0o644)
        os.kill(service.pid, signal.SIGHUP)
        assert "anybody can read it" in service.logged("tokens not reread")["error"]
        assert service.call("GET", "/v1/agents", Authorization=f"Bearer {OTHER}").status == 200
        assert TOKEN not in json.dumps(service.log)

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "agents.example"])
    def test_an_address_that_others_reach_needs_one(self, host):
        with pytest.raises(InputError, check=refusal("--host")):
            Settings(host=host)
        assert Settings(host=host, tokens=Tokens([TOKEN])).hosts is None


class TestPages:
    """What a page in a browser on the same machine could try."""

    @pytest.mark.parametrize("host", ["evil.example", "evil.example:8321", "", "127.0.0.1.evil.example", "[::2]"])
    def test_a_name_that_was_made_to_lead_here_is_refused(self, service, host):
        reply = service.call("GET", "/v1/agents", Host=host)
        assert (reply.status, reply.json["error"]) == (421, "host")

    @pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:8321"])
    def test_its_own_names_are_not(self, service, host):
        assert service.call("GET", "/v1/agents", Host=host).status == 200

    def test_nor_those_that_it_was_given(self, guarded):
        assert asked(guarded, "GET", "/v1/agents", Host="agents.example").status == 200

    @pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
    def test_pages_of_other_sites_are_refused(self, service, origin):
        assert service.call("POST", "/v1/agents/a/act", Origin=origin).status == 403

    def test_no_answer_can_be_read_from_another_site(self, service):
        for reply in (
            service.call("GET", "/healthz"),
            service.call("OPTIONS", "/v1/agents"),
            service.call("GET", "/none"),
        ):
            assert not [name for name in reply.headers if name.lower().startswith("access-control")]
            assert reply.headers["x-content-type-options"] == "nosniff"
            assert reply.headers["cache-control"] == "no-store"
            assert "default-src 'none'" in reply.headers["content-security-policy"]
            assert "server" not in reply.headers

    @pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
    def test_only_json_that_says_so_is_read(self, service, kind):
        """A page may send these kinds to any site without asking."""
        body = {"name": "forged", "setup": STATION}
        assert service.call("POST", "/v1/agents", body, Content_Type=kind).status in (415, 422)
        assert service.call("POST", "/v1/agents/forged/act", {}, Content_Type=kind).status == 415
        assert service.call("GET", "/v1/agents/forged").status == 404


def guarding(app, most, operation):
    """Return a guard of an application with one operation, which takes bodies of so many bytes."""
    settings = Settings(limits=Limits(body=most, patience=1e6))
    return Guard(app, settings, Metrics(), lambda _method, _path: (operation, None))


def request(guard, head, receive):
    headers = [(b"host", b"localhost"), tuple(head.split(b": "))]
    return guard({"type": "http", "method": "POST", "path": "/", "headers": headers}, receive, None)


def served_beside(slow, fast, most, operation):
    """Return the bodies that are served while five others, whose header is ``slow``, never arrive."""
    served = []

    async def app(scope, _receive, _send):
        served.append(scope[ARRIVED])

    async def never():
        await asyncio.Event().wait()

    async def at_once():
        return {"type": "http.request", "body": b"[]", "more_body": False}

    async def ask():
        guard = guarding(app, most, operation)
        waiting = [asyncio.create_task(request(guard, slow, never)) for _ in range(5)]
        await asyncio.sleep(0)
        await asyncio.wait_for(request(guard, fast, at_once), 60)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(ask())
    return served


class TestLimits:
    def test_a_long_body_is_refused_before_it_is_read(self, guarded):
        reply = asked(guarded, "POST", "/v1/agents", b"x" * 5001)
        assert (reply.status, reply.json["message"]) == (413, "the body is longer than 5000 bytes")

    def test_and_one_that_does_not_say_how_long_it_is(self, guarded):
        with socket.create_connection(("127.0.0.1", guarded.port), timeout=10) as connection:
            head = f"POST /v1/agents HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
            connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
            for _ in range(5):  # a little more than is taken, and no more: what lay unread would reset the connection
                connection.sendall(b"400\r\n" + b"x" * 1024 + b"\r\n")
            answer = connection.recv(4096)
            assert b" 413 " in answer

    def test_a_body_that_does_not_come_is_not_waited_for(self):
        sent = []

        async def receive():
            await asyncio.sleep(60)

        async def send(message):
            sent.append(message)

        guard = Guard(None, Settings(limits=Limits(patience=0.01)), Metrics(), lambda _method, _path: (None, None))
        headers = [(b"host", b"localhost"), (b"content-length", b"10")]
        asyncio.run(guard({"type": "http", "method": "POST", "path": "/", "headers": headers}, receive, send))
        assert sent[0]["status"] == 408
        assert (b"connection", b"close") in sent[0]["headers"]

    @pytest.mark.parametrize(
        ("slow", "fast", "most"),
        [
            (b"transfer-encoding: chunked", b"transfer-encoding: chunked", 1 << 20),
            (b"content-length: 20000", b"content-length: 10000", 1 << 20),
            (b"transfer-encoding: chunked", b"content-length: 10000", 1 << 30),
            (b"content-length: 20000", b"transfer-encoding: chunked", 1 << 30),
        ],
    )
    def test_bodies_that_come_slowly_keep_nobody_else_waiting(self, slow, fast, most):
        """Many are read at a time; and if few, those that do not say how long they are have their own places."""
        assert served_beside(slow, fast, most, None) == [b"[]"]

    @pytest.mark.parametrize("slow", [b"transfer-encoding: chunked", b"content-length: 20000"])
    @pytest.mark.parametrize("fast", [b"content-length: 10", b"content-length: 10000"])
    def test_agent_states_that_come_slowly_keep_no_shorter_ones_waiting(self, slow, fast):
        imported = SimpleNamespace(body=bytes, scope=None, label="import")
        assert served_beside(slow, fast, 10_000, imported) == [b"[]"]

    @pytest.mark.parametrize("head", [b"transfer-encoding: chunked", b"content-length: 10000"])
    def test_few_bodies_are_in_memory_however_many_are_sent(self, head):
        """A body that waits to be worked on keeps its place, so that no other is read in its stead."""
        most, read, served, body = READING // MOST_LARGE, [], [], b"[]" + b" " * SMALL

        async def ask():
            gate = asyncio.Event()

            async def app(scope, _receive, _send):
                await gate.wait()
                served.append(scope[ARRIVED])

            async def at_once():
                read.append(1)
                return {"type": "http.request", "body": body, "more_body": False}

            guard = guarding(app, most, None)
            requests = [asyncio.create_task(request(guard, head, at_once)) for _ in range(5 * MOST_LARGE)]
            for _ in range(100):
                await asyncio.sleep(0)
            assert len(read) == 2 * MOST_LARGE  # as many are read as are worked on
            gate.set()
            await asyncio.gather(*requests)

        asyncio.run(ask())
        assert served == [body] * 5 * MOST_LARGE

    @pytest.mark.parametrize("depth", [17, 1000])
    def test_deep_json_is_refused(self, guarded, depth):
        body = b'{"name":"deep","setup":{"actions":' + b"[" * depth + b"]" * depth + b"}}"
        reply = asked(guarded, "POST", "/v1/agents", body)
        assert (reply.status, reply.json["message"]) == (422, "JSON is nested deeper than 16")

    def test_brackets_in_strings_are_not_depth(self):
        assert not is_deep(b'{"a": "' + b"[" * 100 + b'\\"' + b"{" * 100 + b'"}')
        assert is_deep(b"[" * 17)
        assert not is_deep(b"[]" * 1000)

    @pytest.mark.parametrize(
        ("setup", "message"),
        [
            ({"observations": list(range(51))}, "observations: 51; at most 50 labels are taken"),
            ({"aleatoric": "given", "states": list(range(41))}, "states: 41; at most 40 are taken"),
            ({"observations": list(range(35))}, "values: 72; at most 60 (states times actions) are taken"),
            ({"reward": [[0, 0, 0, 0]] * 9}, "reward: 9; at most 8 rows are taken"),
            (
                {"aleatoric": "window:4", "observations": [1, 2, 3]},
                "aleatoric: 'window:4'; so long a window has more than 40",
            ),
        ],
    )
    def test_a_large_setup_is_refused(self, guarded, setup, message):
        base = {"actions": [0, 1], "observations": [0], "reward_range": [0, 1]}
        reply = asked(guarded, "POST", "/v1/agents", {"name": "large", "setup": {**base, **setup}})
        assert (reply.status, reply.json["error"]) == (422, "input")
        assert reply.json["message"].startswith(message)

    def test_what_an_agent_really_holds_is_counted(self, guarded):
        """This one holds a table per step of its horizon: 4 states, 2 actions, 40 steps, value and count, and more."""
        setup = {"actions": [0, 1], "observations": [0, 1, 2], "reward_range": [0, 1], "agent": "ucb-h"}
        small, large = ({"agent.duration": 1000, "agent.horizon": horizon} for horizon in (20, 40))
        reply = asked(guarded, "POST", "/v1/agents", {"name": "large", "setup": {**setup, "parameters": large}})
        assert (reply.status, reply.json["error"]) == (422, "input")
        assert reply.json["message"].startswith("agent: 'ucb-h'; holds 644 numbers, and at most 480 are taken")
        reply = asked(guarded, "POST", "/v1/agents", {"name": "small", "setup": {**setup, "parameters": small}})
        assert reply.status == 201
        assert asked(guarded, "DELETE", "/v1/agents/small?confirm=small").status == 200

    def test_there_are_only_so_many_agents(self, guarded):
        asks = [asked(guarded, "POST", "/v1/agents", {"name": f"a{n}", "setup": STATION}) for n in range(3)]
        assert [reply.status for reply in asks] == [201, 201, 409]
        assert "--max-agents" in asks[-1].json["message"]
        state = asked(guarded, "GET", "/v1/agents/a0/state").body
        octets = {"Content_Type": "application/octet-stream"}
        assert asked(guarded, "PUT", "/v1/agents/a0/state", state, **octets).status == 200
        assert asked(guarded, "PUT", "/v1/agents/a0/state", bytes(3001), **octets).status == 413


class TestLeaks:
    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            ("POST", "/v1/agents", b"{"),
            ("POST", "/v1/agents", b"\xff\xfe"),
            ("POST", "/v1/agents", b'{"name": "a", "setup": {"seed": NaN}}'),
            ("POST", "/v1/agents", b'{"name": "a", "setup": {"seed": 1e999}}'),
            ("POST", "/v1/agents", b'{"name": "a", "setup": {"task": "\\ud800"}}'),
            ("POST", "/v1/agents", b'{"name": "a", "setup": {"seed": ' + b"9" * 6000 + b"}}"),
            ("POST", "/v1/agents/none/observe", b'{"step": 1, "observation": "\\u0000"}'),
            ("GET", "/v1/agents/%00", None),
            ("GET", "/v1/agents/none/journal?first=x", None),
            ("TRACE", "/v1/agents", None),
            ("GET", "/../../etc/passwd", None),
        ],
    )
    def test_what_is_refused_tells_nothing_of_the_inside(self, service, method, path, body):
        reply = service.call(method, path, body)
        assert 400 <= reply.status < 500
        assert set(reply.json) <= {"error", "message", "expected", "recorded"}
        for secret in (b"Traceback", b"/src/", b".py", str(service.directory).encode(), b"sqlite", b"SELECT"):
            assert secret not in reply.body

    def test_a_long_value_is_not_repeated_whole(self, service):
        service.create("short")
        reply = service.call("POST", "/v1/agents/short/observe", {"step": 1, "observation": "x" * 200})
        assert len(reply.json["message"]) <= 500

    def test_what_nobody_foresaw_is_a_number_and_the_log_has_the_rest(self, start):
        service = start(before="import everlearn.service.management as m\nm.inspect = lambda *_: 1 / 0\n")
        service.create("damaged")
        reply = service.call("GET", "/v1/agents/damaged")
        assert (reply.status, reply.json["error"]) == (500, "internal")
        assert b"ZeroDivision" not in reply.body
        (logged,) = until(lambda: [entry for entry in service.log if entry.get("id") == reply.json["id"]])
        assert "ZeroDivisionError" in logged["traceback"]
        assert service.call("GET", "/healthz").status == 200


def guard_of(app):
    state = Operation("PUT", "/state", "", app, {}, bytes, tag="documents")
    return Guard(app, Settings(), Metrics(), lambda _method, path: (state if path == "/state" else None, None))


def ask(guard, path="/", body=b"", headers=(), broken=False):
    """Return what a guard sends in answer to a request."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        if broken:
            raise ConnectionResetError
        sent.append(message)

    given = [(b"host", b"localhost"), (b"content-length", str(len(body)).encode()), *headers]
    asyncio.run(guard({"type": "http", "method": "POST", "path": path, "headers": given}, receive, send))
    return sent


class TestErrorsOfAnswers:
    @staticmethod
    async def begin(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    def test_an_error_within_a_streamed_answer_is_logged(self, caplog):
        async def app(*call):
            await self.begin(*call)
            raise ZeroDivisionError

        assert [message["type"] for message in ask(guard_of(app))] == ["http.response.start"]
        (record,) = caplog.records
        assert (record.getMessage(), record.exc_info[0]) == ("request failed", ZeroDivisionError)
        assert record.fields == {"method": "POST", "path": "/"}

    def test_an_error_before_any_answer_is_logged_and_answered(self, caplog):
        async def app(*_call):
            raise ZeroDivisionError

        assert ask(guard_of(app))[0]["status"] == 500
        assert len(caplog.records) == 1

    def test_a_client_that_has_gone_is_not(self, caplog):
        assert ask(guard_of(self.begin), broken=True) == []
        assert not caplog.records

    def test_a_status_without_a_word_of_its_own(self):
        answer = answer_to({}, HTTPException(418, "a\nb\u2028c"))
        assert json.loads(answer.body) == {"error": "refused", "message": "a b c"}

    def test_a_message_is_one_line(self, service):
        reply = service.call("POST", "/v1/agents", {"name": "a", "setup": STATION, "a\nb": 1})
        assert reply.status == 422
        assert "\n" not in reply.json["message"]


class TestDepth:
    """What is scanned depends on where it is sent, not on what it says it is."""

    def test_no_media_type_passes_deep_json(self):
        kinds = [(b"content-type", b"application/json"), (b"content-type", b"application/octet-stream")]
        for headers in (kinds, kinds[::-1], kinds[1:]):
            assert ask(guard_of(None), body=b"[" * 17, headers=headers)[0]["status"] == 422

    def test_an_agent_state_is_no_json(self):
        async def app(scope, _receive, send):
            assert scope[ARRIVED] == b"[" * 17
            await send({"type": "http.response.start", "status": 200, "headers": []})

        kind = (b"content-type", b"application/octet-stream; charset=binary")
        assert ask(guard_of(app), "/state", b"[" * 17, [kind])[0]["status"] == 200
