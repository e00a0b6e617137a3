"""Requests made up from the OpenAPI description: none is answered with 5xx, none tells anything of the inside."""

from __future__ import annotations

import zlib
from itertools import product

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.service.conftest import STATION
from tests.service.crafted import PUMP, Crafted
from tests.service.flooding import INSIDE

CONFORM = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)


@pytest.fixture(scope="module")
def schema(service):
    service.create("a", {**STATION, "snapshot_every": 5})
    return schemathesis.openapi.from_url(f"{service.url}/openapi.json")


def fuzz(service, schema, requests_each: int) -> int:
    """Send so many requests to each operation; return how many there were."""
    count = 0
    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    for operation, mode in product((found.ok() for found in schema.get_all_operations()), modes):
        if mode is GenerationMode.NEGATIVE and not operation.body and not list(operation.iter_parameters()):
            continue  # nothing can be sent that is not as described

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(
            max_examples=requests_each,
            database=None,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def send(case):
            nonlocal count
            count += 1
            aim(case)
            response = case.call(base_url=service.url, session=session)
            check(service, case, response)

        with requests.Session() as session:
            send()
    return count


def aim(case) -> None:
    """Let most requests be about an agent that there is, and some say what it understands: made-up names never do."""
    if case.headers and "If-Match" in case.headers and case.method != "DELETE":
        del case.headers["If-Match"]  # a made-up version is never that of an agent
    luck = zlib.crc32(repr((case.path_parameters, case.body)).encode())
    if "name" in (case.path_parameters or {}) and case.method != "DELETE" and luck % 4:
        case.path_parameters["name"] = "a"
    if case.path.endswith(("/observe", "/step")) and isinstance(case.body, dict) and luck % 3:
        case.body["observation"] = ("arrival", "departure", "nothing", "else")[luck // 7 % 4]
        case.body["step"] = 1 + luck // 29 % 12
        for key in ("executed", "reward", "state", "allowed", "next_allowed"):
            if luck // 41 % 3:
                case.body.pop(key, None)


def check(service, case, response) -> None:
    case.validate_response(response, checks=CONFORM)
    if response.status_code >= 400:
        assert set(response.json()) <= {
            "error",
            "message",
            "id",
            "argument",
            "expected",
            "recorded",
            "pending",
            "version",
        }
    sent = case.as_curl_command()
    for secret in (*INSIDE, str(service.directory).encode()):
        assert secret.decode() in sent or secret not in response.content, sent


def test_some_requests(service, schema):
    assert fuzz(service, schema, 2) > 50
    assert service.call("GET", "/readyz").status == 200


def craft(service, count: int, seed: int) -> set[int]:
    """Send so many crafted requests; return the statuses of the answers."""
    service.call("DELETE", "/v1/agents/pump?confirm=pump")
    service.create("pump", PUMP)
    statuses = set()
    crafted = Crafted(seed, service.call("GET", "/v1/agents/pump/state").body)
    for _ in range(count):
        method, path, body = crafted.request()
        kind = "application/octet-stream" if method == "PUT" else "application/json"
        reply = service.call(method, path, body, Content_Type=kind)
        assert reply.status < 500, (method, path, body[:2000], reply)
        assert "\n" not in reply.json.get("message", "")
        assert not any(secret in reply.body for secret in INSIDE), reply
        statuses.add(reply.status)
        if reply.status == 201:
            service.call("DELETE", "/v1/agents/x?confirm=x")
    assert service.call("GET", "/readyz").json == {"status": "ready", "quarantined": 0}
    assert service.call("POST", "/v1/agents/pump/act").status == 200
    return statuses


def test_some_crafted_requests(service):
    assert craft(service, 60, 1) >= {200, 409, 422}


@pytest.mark.soak
def test_ten_thousand_requests(service, schema):
    assert fuzz(service, schema, 600) > 10_000
    assert service.call("GET", "/readyz").status == 200


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 6))
def test_thousands_of_crafted_requests(service, seed):
    assert craft(service, 2_500, seed) >= {200, 201, 409, 422}
