"""Settings of a command from a file and from the environment, besides its options.

The options of the command are the only list of its settings: ``--max-agents`` is ``max-agents`` in the file and
``EVERLEARN_SERVE_MAX_AGENTS`` in the environment.  The command line wins over the environment, and that over the file.
"""

from __future__ import annotations

import os
import tomllib
from typing import Annotated, Any

import typer

from everlearn.errors import InputError, UnknownName, require
from everlearn.files import expanded

ABOUT = ("config", "show_config", "as_json")
"""Options that are about the settings, and no settings themselves."""

_FILE = "everlearn.configuration"
_SOURCES = {"COMMANDLINE": "command line", "ENVIRONMENT": "environment", "DEFAULT_MAP": "file"}


def _configure(context: typer.Context, path: str | None) -> str | None:
    """Let the options that follow take their values from the environment and from a file."""
    if context.resilient_parsing:
        return path
    settings = _settings(context)
    context.auto_envvar_prefix = _prefix(context)
    _check_environment(context, settings)
    if path is not None:
        context.default_map = _read(path, settings)
        context.meta[_FILE] = path
    return path


Config = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        envvar="EVERLEARN_SERVE_CONFIG",
        show_envvar=False,
        is_eager=True,
        callback=_configure,
        help="A TOML file of settings with the names of these options. Options and environment variables take"
        " precedence over it.",
    ),
]


def effective(context: typer.Context) -> dict[str, dict[str, Any]]:
    """Return every setting by name: its value, and where it comes from."""
    return {
        parameter.opts[0].removeprefix("--"): {
            "value": context.params[name],
            "source": _source(context, name),
        }
        for name, parameter in _settings(context).items()
    }


def _source(context: typer.Context, name: str) -> str:
    given = context.get_parameter_source(name)
    source = _SOURCES.get("" if given is None else given.name, "default")
    if source == "environment":
        return f"environment: {_prefix(context)}_{name.upper()}"
    return f"file: {context.meta[_FILE]}" if source == "file" else source


def _settings(context: typer.Context) -> dict[str, Any]:
    return {
        str(parameter.name): parameter for parameter in context.command.params if parameter.name not in (*ABOUT, "help")
    }


def _prefix(context: typer.Context) -> str:
    return f"EVERLEARN_{context.command.name or ''}".upper()


def _check_environment(context: typer.Context, settings: dict[str, Any]) -> None:
    prefix = _prefix(context)
    known = [f"{prefix}_{name.upper()}" for name in (*settings, "config")]
    for name in os.environ:
        if name.startswith(f"{prefix}_") and name not in known:
            raise UnknownName("environment", name, known)


def _read(path: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the values in a file, by the names of the options."""
    try:
        document = tomllib.loads(expanded(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("--config", path, f"it cannot be read: {error.strerror}") from None
    except ValueError as error:  # neither TOML, nor UTF-8
        raise InputError("--config", path, f"it is not TOML: {error}") from None
    known = {name.replace("_", "-"): parameter for name, parameter in settings.items()}
    values: dict[str, Any] = {}
    for key, value in document.items():
        option = key.replace("_", "-")
        if option not in known:
            raise UnknownName(f"{path}: key", key, known)
        require(known[option].name not in values, f"{path}: {key}", value, "it is there twice; give it once")
        values[known[option].name] = _checked(f"{path}: {key}", value, known[option])
    return values


def _checked(where: str, value: Any, parameter: Any) -> Any:
    """Return a value that an option can take; TOML has kinds of values that no option has."""
    if parameter.multiple:
        require(_is_list_of_text(value), where, value, 'give a list of texts, as in ["a", "b"]')
    elif getattr(parameter, "is_flag", False):
        require(isinstance(value, bool), where, value, "give true or false")
    else:
        number_or_text = isinstance(value, int | float | str) and not isinstance(value, bool)
        require(number_or_text, where, value, "give a number or a text")
        return str(value)
    return value


def _is_list_of_text(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, str) for part in value)
