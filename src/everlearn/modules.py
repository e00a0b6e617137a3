"""Import the module that a user names, and say in one line what is wrong with it."""

from __future__ import annotations

import importlib
import os
import sys
import types
from pathlib import Path

from everlearn.blame import LIBRARIES, blamed, own, own_frames, shown_path
from everlearn.errors import EverlearnError, InputError

DEPENDENCIES = (
    *("distributed", "fastapi", "gymnasium", "llvmlite", "matplotlib", "nicegui", "numba", "numpy", "pandas"),
    *("pyarrow", "rich", "scipy", "typer", "uvicorn"),
)
"""Libraries that are imported when they are first needed; a user's file of that name would be taken for them."""


def look_in(folder: str | Path) -> None:
    """Look for modules in a folder of the user's too: after those of Python itself, and before installed ones.

    Examples
    --------
    >>> look_in(Path.cwd())
    >>> str(Path.cwd()) in sys.path
    True

    """
    for library in DEPENDENCIES:
        if library not in sys.modules and (file := _file_of(library, folder)) is not None:
            remedy = f"hides the library {library}, which everlearn needs; rename it"
            raise InputError("file", shown_path(str(file)), remedy)
    if str(folder) not in sys.path:
        installed = (place for place, path in enumerate(sys.path) if Path(path).name in _INSTALLED)
        sys.path.insert(next(installed, len(sys.path)), str(folder))


_INSTALLED = ("site-packages", "dist-packages")


def import_own(name: str, argument: str, given: str) -> types.ModuleType:
    """Import a module that a user names as a part of an argument.

    Examples
    --------
    >>> import_own("math", "agent", "math:agent").__name__
    'math'
    >>> import_own("no_such_module", "agent", "no_such_module:agent")
    Traceback (most recent call last):
    ...
    everlearn.errors.InputError: agent: 'no_such_module:agent'; there is no module 'no_such_module' here or among what
    is installed

    """
    _refuse_hidden(name.partition(".")[0], argument, given)
    try:
        return importlib.import_module(name)
    except EverlearnError:
        raise
    except SyntaxError as error:
        raise InputError(argument, given, f"{_place(error, name)}: {error.msg}") from None
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and _is_of(name, error.name):
            raise InputError(argument, given, _no_module(name, given)) from None
        raise InputError(argument, given, _failed_import(error)) from None
    except (Exception, SystemExit) as error:
        raise blamed(error, f"{argument} {given!r}: importing {name}") from own(error)


def _place(error: SyntaxError, name: str) -> str:
    """Return where a file cannot be read as Python: the file, the line and its text, as far as they are known."""
    line = "" if error.lineno is None else f", line {error.lineno}"
    text = f", {error.text.strip()!r}" if error.text and error.text.strip() else ""
    return f"{shown_path(error.filename or name)}{line}{text}"


def _refuse_hidden(top: str, argument: str, given: str) -> None:
    """Refuse a file of the user's in place of which another module of that name is, or would be, imported."""
    folders = [path for path in sys.path if not (path + os.sep).startswith(LIBRARIES)]
    file = next((file for folder in folders if (file := _file_of(top, folder)) is not None), None)
    if file is None:
        return
    origin = getattr(sys.modules.get(top), "__file__", None)
    if top in sys.stdlib_module_names:
        what = "of Python's own library"
    elif (top in DEPENDENCIES and origin is None) or (origin is not None and origin.startswith(LIBRARIES)):
        what = "that is installed"
    elif origin is not None and Path(origin) not in (file, file / "__init__.py"):
        what = f"in {shown_path(str(Path(origin).parent))}"
    else:
        return
    raise InputError(argument, given, f"{file.name} here has the name of a module {what}; rename it")


def _file_of(name: str, folder: str | Path) -> Path | None:
    """Return what a module or a package of this name would be read from in a folder, or None."""
    module, package = Path(folder) / f"{name}.py", Path(folder) / name / "__init__.py"
    return module if module.is_file() else package.parent if package.is_file() else None


def _is_of(name: str, missing: str | None) -> bool:
    return missing is not None and (name + ".").startswith(missing + ".")


def _no_module(name: str, given: str) -> str:
    module = name.removesuffix(".py").replace("/", ".").strip(".")
    if module != name:
        return f"write {module}:{given.partition(':')[2]}, with the name of the module rather than that of its file"
    return f"there is no module {name!r} here or among what is installed"


def _failed_import(error: ImportError) -> str:
    """Return which import failed, and the user's line that asked for it."""
    frames = own_frames(error.__traceback__)
    place = f"{shown_path(frames[-1].filename)}, line {frames[-1].lineno}, {frames[-1].line!r}: " if frames else ""
    return f"{place}{' '.join(str(error).split())}"
