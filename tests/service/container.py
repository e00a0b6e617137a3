"""Execute a Containerfile where no container engine is: each stage is an overlay over this machine's own files.

Run as ``unshare --mount python tests/service/container.py CONTAINERFILE CONTEXT FOLDER``: nothing that is mounted or
written here is seen outside, except in FOLDER.  The base image is this machine with its Python: the steps are tested.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

KNOWN = ("FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "CMD")
CHROOT = shutil.which("chroot") or "chroot"
PASSED = re.compile(r"PIP_|(HTTP|HTTPS|NO)_PROXY|SSL_|REQUESTS_", re.IGNORECASE)
"""Variables by which this machine reaches its package index."""


@dataclass
class Image:
    """The state of one stage."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "0"
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)

    def call(self, command: list[str]) -> subprocess.Popen[str]:
        """Begin a command in it."""
        inner = f"cd {shlex.quote(self.folder)} && exec {shlex.join(command)}"
        become = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups", "--no-new-privs"]
        prefix = [] if self.user == "0" else become
        whole = [CHROOT, str(self.root), *prefix, "sh", "-c", inner]
        return subprocess.Popen(whole, env=self.environment, stderr=subprocess.PIPE, text=True)


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Containerfile, each with its argument."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    found = [line.split(None, 1) for line in joined.splitlines() if line.strip()]
    unknown = {name for name, _ in found} - {*KNOWN}
    if unknown:
        raise SystemExit(f"instructions that are not executed here: {unknown}")
    return [(name, argument.strip()) for name, argument in found]


def mount(number: int, folder: Path) -> Path:
    """Return a root with this machine's files, whose changes are kept apart."""
    upper, work, root = (folder / f"{name}{number}" for name in ("upper", "work", "root"))
    for path in (upper, work, root):
        path.mkdir()
    run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir=/,upperdir={upper},workdir={work}", str(root))
    for path in ("proc", "dev"):
        run("mount", "--rbind", f"/{path}", str(root / path))
    for path in ("tmp", "run"):  # not emptied: other processes write there meanwhile
        run("mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", str(root / path))
    (root / "run/secrets").mkdir()
    for path in ("opt/everlearn", "data", "src"):  # a base image has nothing there
        shutil.rmtree(root / path, ignore_errors=True)
    for parent in Path(sys.base_prefix).parents:  # any user can execute the Python of a base image
        (root / str(parent).lstrip("/")).chmod(0o755)
    return root


def run(*command: str) -> None:
    subprocess.run(command, check=True)


def copy(image: Image, argument: str, context: Path, stages: dict[str, Image]) -> None:
    words = shlex.split(argument)
    source = stages[words.pop(0).partition("=")[2]].root if words[0].startswith("--from=") else context
    *paths, goal = words
    target = image.root / os.path.join(image.folder, goal).lstrip("/")  # noqa: PTH118 - the goal may be absolute
    for path in paths:
        origin = source / path.lstrip("/")
        into = target / origin.name if goal.endswith("/") else target
        into.parent.mkdir(parents=True, exist_ok=True)
        run("cp", "-a", "-T", str(origin), str(into))


def build(text: str, context: Path, folder: Path) -> Image:
    """Execute all instructions; return the last stage."""
    stages: dict[str, Image] = {}
    image = Image(Path())
    for name, argument in instructions(text):
        sys.stdout.write(f"{name} {argument}\n")
        sys.stdout.flush()
        if name == "FROM":
            image = stages[argument.partition(" AS ")[2] or "last"] = begin(len(stages), folder)
        elif name == "COPY":
            copy(image, argument, context, stages)
        else:
            execute(image, name, argument)
    return image


def begin(number: int, folder: Path) -> Image:
    """Begin a stage."""
    given = {key: value for key, value in os.environ.items() if PASSED.match(key)}
    path = f"{sys.base_prefix}/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return Image(mount(number, folder), {"PATH": path, **given})


def execute(image: Image, name: str, argument: str) -> None:
    """Execute an instruction that concerns one stage alone."""
    if name == "WORKDIR":
        image.folder = argument
        (image.root / argument.lstrip("/")).mkdir(parents=True, exist_ok=True)
    elif name == "RUN":
        process = image.call(["sh", "-ec", argument])
        _, errors = process.communicate()
        if process.returncode:
            raise SystemExit(f"RUN failed: {errors}")
    elif name == "ENV":
        key, _, value = argument.partition("=")
        image.environment[key] = value
    elif name == "USER":
        image.user = argument
    elif name == "HEALTHCHECK":
        image.health = json.loads(argument.partition("CMD ")[2])
    elif name == "CMD":
        image.command = json.loads(argument)


def size(folder: Path) -> int:
    """Return how many megabytes a stage has added to its base."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) >> 20


def healthy(image: Image) -> bool:
    process = image.call(image.health)
    process.communicate()
    return process.returncode == 0


def main() -> None:
    """Build the image, then start it, check its health, use it, stop it and start it again."""
    containerfile, context, folder = map(Path, sys.argv[1:])
    image = build(containerfile.read_text(), context, folder)
    token = image.root / "run/secrets/everlearn-tokens"
    token.write_text("0123456789abcdef\n")
    os.chown(token, int(image.user), int(image.user))
    token.chmod(0o400)
    steps = []
    for _ in range(2):
        process = image.call(image.command)
        while not healthy(image):
            if process.poll() is not None:
                raise SystemExit(process.communicate()[1])
            time.sleep(0.1)
        steps.append(use(image))
        process.send_signal(signal.SIGTERM)
        process.communicate()
        if process.returncode:
            raise SystemExit(f"it ended with {process.returncode}")
    owner = (image.root / "data/everlearn.db").stat().st_uid
    report = {"steps": steps, "owner": owner, "megabytes": size(folder / "upper1"), "user": image.user}
    (folder / "report.json").write_text(json.dumps(report))


USE = """
import everlearn as el
with el.Client("http://127.0.0.1:8321", "a", token="0123456789abcdef", deadline=60) as client:
    client.create({"task": "service-station", "schedule": "smooth", "seed": 1})
    client.act(); client.observe("arrival")
    print(client.inspect()["step"])
"""


def use(image: Image) -> int:
    """Take a step with an agent; return how many it has taken."""
    done = subprocess.run(
        [CHROOT, str(image.root), "/opt/everlearn/bin/python", "-c", USE],
        env=image.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr)
    return int(done.stdout)


if __name__ == "__main__":
    main()
