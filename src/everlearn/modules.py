"""Import the modules that users name, and report their errors in one line."""

from __future__ import annotations

import importlib.util
import os
import sys
import types
from pathlib import Path

from everlearn.blame import LIBRARIES, blame, own_frames, shown_path
from everlearn.errors import InputError


def look_in(folder: str | Path) -> None:
    """Append a folder of the user's to the import path, so that its files do not hide libraries."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def import_own(name: str, argument: str, given: str) -> types.ModuleType:
    """Import a module that is part of an argument of the user's."""
    _refuse_hidden(name.partition(".")[0], argument, given)
    with blame(f"{argument} {given!r}: importing {name}"):
        try:
            return importlib.import_module(name)
        except SyntaxError as error:
            raise InputError(argument, given, f"{_place(error, name)}: {error.msg}") from None
        except ImportError as error:
            missing = error.name if isinstance(error, ModuleNotFoundError) else None
            if missing is not None and f"{name}.".startswith(f"{missing}."):
                raise InputError(argument, given, _no_module(name, given)) from None
            raise InputError(argument, given, _failed_import(error)) from None


def _place(error: SyntaxError, name: str) -> str:
    """Return the place of a syntax error: the file, and the line and its text if they are known."""
    line = "" if error.lineno is None else f", line {error.lineno}"
    text = f", {error.text.strip()!r}" if error.text and error.text.strip() else ""
    return f"{shown_path(error.filename or name)}{line}{text}"


def _refuse_hidden(top: str, argument: str, given: str) -> None:
    """Raise if a file of the user's has the name of another module, which would be imported instead."""
    own = [Path(path) for path in map(str, sys.path) if not (path + os.sep).startswith(LIBRARIES)]
    files = [file for folder in (Path.cwd(), *own) if (file := _file_of(top, folder)) is not None]
    origin = _origin(top)
    if not files or origin == files[0].resolve():
        return
    if top in sys.stdlib_module_names:
        what = "of Python's own library"
    elif origin is None:  # there is no such module, which the import will report
        return
    else:
        installed = "site-packages" in origin.parts or str(origin).startswith(LIBRARIES)
        what = "that is installed" if installed else f"in {shown_path(str(origin.parent))}"
    file = files[0].parent if files[0].name == "__init__.py" else files[0]
    raise InputError(argument, given, f"{file.name} here has the name of a module {what}; rename it")


def _origin(top: str) -> Path | None:
    """Return the file from which a module of this name was or would be imported."""
    loaded = sys.modules.get(top)
    spec = importlib.util.find_spec(top) if loaded is None else None
    origin = getattr(loaded, "__file__", None) if spec is None else spec.origin
    return None if origin is None else Path(origin).resolve()


def _file_of(name: str, folder: str | Path) -> Path | None:
    """Return the file of a module or a package in a folder, or None."""
    places = Path(folder) / name / "__init__.py", Path(folder) / f"{name}.py"
    return next((place for place in places if place.is_file()), None)


def _no_module(name: str, given: str) -> str:
    module = name.removesuffix(".py").replace("/", ".").strip(".")
    if name.startswith(("/", "..")):
        path = Path(name)
        return f"write {path.stem}:{given.partition(':')[2]}, in the folder {path.parent}"
    if module != name:
        return f"write {module}:{given.partition(':')[2]}, with the name of the module rather than that of its file"
    return f"there is no module {name!r} here or among the installed packages"


def _failed_import(error: ImportError) -> str:
    """Return which import failed, and the line of the user's that caused it."""
    frames = own_frames(error.__traceback__)
    place = f"{shown_path(frames[-1].filename)}, line {frames[-1].lineno}, {frames[-1].line!r}: " if frames else ""
    return f"{place}{' '.join(str(error).split())}"
