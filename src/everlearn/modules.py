"""Import the module that a user names, and say in one line what is wrong with it."""

from __future__ import annotations

import importlib.util
import os
import sys
import types
from pathlib import Path

from everlearn.blame import LIBRARIES, blame, own_frames, shown_path
from everlearn.errors import InputError


def look_in(folder: str | Path) -> None:
    """Look for modules in a folder of the user's too, last of all: a file of theirs hides no library."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def import_own(name: str, argument: str, given: str) -> types.ModuleType:
    """Import a module that a user names as a part of an argument."""
    _refuse_hidden(name.partition(".")[0], argument, given)
    with blame(f"{argument} {given!r}: importing {name}"):
        try:
            return importlib.import_module(name)
        except SyntaxError as error:
            raise InputError(argument, given, f"{_place(error, name)}: {error.msg}") from None
        except ImportError as error:
            if isinstance(error, ModuleNotFoundError) and _is_of(name, error.name):
                raise InputError(argument, given, _no_module(name, given)) from None
            raise InputError(argument, given, _failed_import(error)) from None


def _place(error: SyntaxError, name: str) -> str:
    """Return where a file cannot be read as Python: the file, the line and its text, as far as they are known."""
    line = "" if error.lineno is None else f", line {error.lineno}"
    text = f", {error.text.strip()!r}" if error.text and error.text.strip() else ""
    return f"{shown_path(error.filename or name)}{line}{text}"


def _refuse_hidden(top: str, argument: str, given: str) -> None:
    """Refuse a file of the user's in place of which another module of that name is, or would be, imported."""
    own = [Path(path) for path in map(str, sys.path) if not (path + os.sep).startswith(LIBRARIES)]
    files = [file for folder in (Path.cwd(), *own) if (file := _file_of(top, folder)) is not None]
    origin = _origin(top)
    if not files or origin == files[0].resolve():
        return
    if top in sys.stdlib_module_names:
        what = "of Python's own library"
    elif origin is None:  # it is found nowhere, which importing it will tell
        return
    else:
        installed = "site-packages" in origin.parts or str(origin).startswith(LIBRARIES)
        what = "that is installed" if installed else f"in {shown_path(str(origin.parent))}"
    file = files[0].parent if files[0].name == "__init__.py" else files[0]
    raise InputError(argument, given, f"{file.name} here has the name of a module {what}; rename it")


def _origin(top: str) -> Path | None:
    """Return the file from which a module of this name is imported, or was."""
    loaded = sys.modules.get(top)
    spec = importlib.util.find_spec(top) if loaded is None else None
    origin = getattr(loaded, "__file__", None) if spec is None else spec.origin
    return None if origin is None else Path(origin).resolve()


def _file_of(name: str, folder: str | Path) -> Path | None:
    """Return what a module or a package of this name would be read from in a folder, or None."""
    places = Path(folder) / name / "__init__.py", Path(folder) / f"{name}.py"
    return next((place for place in places if place.is_file()), None)


def _is_of(name: str, missing: str | None) -> bool:
    return missing is not None and (name + ".").startswith(missing + ".")


def _no_module(name: str, given: str) -> str:
    module = name.removesuffix(".py").replace("/", ".").strip(".")
    if name.startswith(("/", "..")):
        path = Path(name)
        return f"write {path.stem}:{given.partition(':')[2]}, in the folder {path.parent}"
    if module != name:
        return f"write {module}:{given.partition(':')[2]}, with the name of the module rather than that of its file"
    return f"there is no module {name!r} here or among what is installed"


def _failed_import(error: ImportError) -> str:
    """Return which import failed, and the user's line that asked for it."""
    frames = own_frames(error.__traceback__)
    place = f"{shown_path(frames[-1].filename)}, line {frames[-1].lineno}, {frames[-1].line!r}: " if frames else ""
    return f"{place}{' '.join(str(error).split())}"
