"""The command ``everlearn serve``: serve the agents of a directory over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from everlearn.cli.configuration import Config, effective
from everlearn.cli.options import integer, json_option
from everlearn.cli.output import print_json, say
from everlearn.errors import InputError, require
from everlearn.files import expanded

MOST_SHARDS = 64


def serve(
    context: typer.Context,
    data: Annotated[str, typer.Option(metavar="DIR", help="The directory in which the agents are stored.")],
    host: Annotated[
        str, typer.Option(help="The address to listen on. An address other than loopback requires --token-file.")
    ] = "127.0.0.1",
    port: Annotated[int, integer(help="The port to listen on; 0 for any free port.")] = 8321,
    token_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="A file of tokens, one per line; changes take effect at once.")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A host name to accept in the Host header; may be repeated."),
    ] = None,
    max_agents: Annotated[int, integer(help="Maximum number of agents.")] = 1_000,
    max_body: Annotated[int, integer(help="Maximum size of a request, in bytes.")] = 1 << 20,
    max_state: Annotated[int, integer(help="Maximum size of an imported agent state, in bytes.")] = 64 << 20,
    max_labels: Annotated[int, integer(help="Maximum number of actions, or of observations, of an agent.")] = 10_000,
    max_states: Annotated[int, integer(help="Maximum number of aleatoric states of an agent.")] = 100_000,
    max_values: Annotated[int, integer(help="Maximum number of states times actions of an agent.")] = 1_000_000,
    max_rows: Annotated[
        int, integer(help="Maximum number of rows of a state or reward table, when an agent is created.")
    ] = 100_000,
    max_waiting: Annotated[int, integer(help="Maximum number of queued requests.")] = 1_024,
    max_connections: Annotated[int, integer(help="Maximum number of connections at a time.")] = 1_000,
    max_rate: Annotated[
        int, integer(help="Maximum number of requests per second of one token, or of one address; 0 for no limit.")
    ] = 0,
    max_burst: Annotated[int, integer(help="Maximum number of requests at once, if there is a --max-rate.")] = 100,
    patience: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="How long to wait for the headers of a request, for its body, and for a client to take an answer.",
        ),
    ] = 10.0,
    shards: Annotated[
        int | None,
        integer(help="Serve with this many processes on one address, each with a part of the agents."),
    ] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
    access_log: Annotated[bool, typer.Option("--access-log", help="Log every request.")] = False,
    otel: Annotated[
        bool, typer.Option("--otel", help="Send traces and metrics with OpenTelemetry; variables OTEL_... say where.")
    ] = False,
    config: Config = None,  # noqa: ARG001 - what it names has been read by now
    show_config: Annotated[
        bool, typer.Option("--show-config", help="Print every setting and where it comes from, and exit.")
    ] = False,
    as_json: Annotated[bool, json_option("With --show-config: print the settings as one JSON document.")] = False,
) -> None:
    """Serve durable agents over HTTP, until SIGTERM or Ctrl-C.

    Every option can also be set in a file (--config) and by an environment variable, such as EVERLEARN_SERVE_PORT.
    """
    try:
        import pydantic  # noqa: F401 - imported by name, so that no other missing module is reported as this one
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as error:
        remedy = "the service needs more packages: pip install 'everlearn[service]'"
        raise InputError("serve", f"no module {error.name}", remedy) from None
    if otel:
        _require_otel()
    from everlearn.service.logs import configure
    from everlearn.service.serve import serve as serve_directory
    from everlearn.service.settings import Limits, Settings
    from everlearn.service.tokens import Tokens

    limits = Limits(
        agents=max_agents,
        body=max_body,
        state=max_state,
        labels=max_labels,
        states=max_states,
        values=max_values,
        rows=max_rows,
        waiting=max_waiting,
        connections=max_connections,
        rate=max_rate,
        burst=max_burst,
        patience=patience,
    )
    tokens = Tokens() if token_file is None else Tokens.read(token_file)
    settings = Settings(host, port, tokens, tuple(allow_host or ()), limits, access_log, otel)
    if shards is not None:
        require(1 <= shards <= MOST_SHARDS, "--shards", shards, f"give a whole number from 1 to {MOST_SHARDS}")
    if show_config:
        _show(effective(context), as_json)
        return
    configure(log_level)
    if shards is None:
        serve_directory(expanded(data), settings)
        return
    from everlearn.service.supervisor import serve_shards

    serve_shards(expanded(data), settings, shards)


def _require_otel() -> None:
    try:
        import opentelemetry.exporter.otlp.proto.http
        import opentelemetry.sdk  # noqa: F401
    except ModuleNotFoundError as error:
        remedy = "it needs more packages: pip install 'everlearn[otel]'"
        raise InputError("--otel", f"no module {error.name}", remedy) from None


def _show(settings: dict[str, dict[str, Any]], as_json: bool) -> None:
    """Print the settings; none of them is a secret: tokens are in a file, which is named and not shown."""
    if as_json:
        print_json(settings)
        return
    width = max(map(len, settings))
    for name, setting in settings.items():
        say(f"{name:<{width}}  {_shown(setting['value']):<24}  {setting['source']}")


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
