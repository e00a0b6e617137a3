"""The command ``everlearn serve``: agents of a directory over HTTP."""

from __future__ import annotations

from pathlib import Path

from everlearn.errors import InputError


def serve_until_told(
    data: str,
    address: tuple[str, int],
    token_file: str | None,
    allow_hosts: list[str],
    limits: dict[str, int | None],
    log_level: str,
) -> None:
    """Serve; one line says what is missing where the extra is not installed."""
    try:
        import fastapi  # noqa: F401 - asked for by name, so that another missing module is not taken for it
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as error:
        remedy = "the service needs more packages: pip install 'everlearn[service]'"
        raise InputError("serve", f"no module {error.name}", remedy) from None
    from everlearn.service.logs import configure
    from everlearn.service.serve import serve
    from everlearn.service.settings import Limits, Settings
    from everlearn.service.tokens import Tokens

    tokens = Tokens() if token_file is None else Tokens.read(token_file)
    given = {name: value for name, value in limits.items() if value is not None}
    settings = Settings(*address, tokens, tuple(allow_hosts), Limits(**given))
    configure(log_level)
    serve(Path(data), settings)
