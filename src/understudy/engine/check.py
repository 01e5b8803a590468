"""What is open about an engine: looked at, not believed. Behind `understudy engine check`.

For a Ray that is started here the check starts one, looks on which addresses its processes listen and who may read its files,
and ends it. For a cluster it tries, in a process of its own, to come in without a token: that must be refused.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from understudy.engine.base import Engine
from understudy.engine.choice import by_name
from understudy.engine.cluster import MODE, TOKEN, TOKEN_PATH, Ray, require_ray
from understudy.errors import UsageError

LOOPBACK = ("0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000")  # 127.0.0.1 twice, ::1
DASHBOARD = 8265
PATIENCE = 60.0  # seconds that a stranger is given to come in
STRANGER = "import sys, ray; ray.init(address=sys.argv[1], log_to_driver=False, configure_logging=False)"


class Finding(NamedTuple):
    """One thing that was looked at."""

    check: str
    ok: bool
    detail: str


def findings(name: str) -> list[Finding]:
    """What was found about the engine of this name."""
    with by_name(name) as engine:
        return [works(engine), *(ray_findings(engine) if isinstance(engine, Ray) else nothing_open(engine))]


def works(engine: Engine) -> Finding:
    """Whether workers do what they are asked."""
    right = engine.map_jobs(abs, range(-4, 0)) == [4, 3, 2, 1]
    return Finding("workers", right, f"{engine.workers} of engine {engine.name!r} answer")


def nothing_open(engine: Engine) -> Iterator[Finding]:
    """Processes of this machine talk through pipes."""
    where = "in this process" if engine.name == "inline" else "between processes of this user, through pipes"
    yield Finding("network", True, f"none is used: work stays {where}")


def ray_findings(engine: Ray) -> Iterator[Finding]:
    """Version, token, dashboard, and who can reach it."""
    yield Finding("version", True, f"Ray {require_ray()}, which knows tokens")
    yield Finding("token", os.environ.get(MODE) == "token", f"{MODE} is {os.environ.get(MODE, 'not set')!r}")
    if engine.address:
        yield from cluster_findings(engine.address)
    else:
        yield from local_findings(engine)


def local_findings(engine: Ray) -> Iterator[Finding]:
    """Of a Ray that was started here."""
    addresses = [address for pid in children(os.getpid()) for address in listening(pid)]
    outside = sorted({address for address in addresses if address not in LOOPBACK})
    yield Finding(
        "loopback",
        bool(addresses) and not outside,
        f"{len(addresses)} ports, {'some of them on the network' if outside else 'all on loopback'}",
    )
    yield reachable("127.0.0.1")
    mode = engine.home.stat().st_mode & 0o777
    yield Finding("files", mode == 0o700, f"sockets, logs and spilled objects lie in a folder of mode {mode:04o}")


def cluster_findings(address: str) -> Iterator[Finding]:
    """Of a cluster: does it let a stranger in?"""
    refused = not stranger_comes_in(address)
    yield Finding("without a token", refused, "refused" if refused else "LET IN: anybody who reaches it can run code")
    yield reachable(address.rpartition(":")[0])
    yield Finding(
        "who can see", True, "whoever administers its machines can read pieces, sums and memory (SECURITY.md)"
    )


def stranger_comes_in(address: str) -> bool:
    """Whether a process without the token can join."""
    bare = {name: value for name, value in os.environ.items() if name not in (TOKEN, TOKEN_PATH)}
    bare |= {MODE: "disabled", "HOME": os.devnull}
    try:
        words = [sys.executable, "-c", STRANGER, address]
        return subprocess.run(words, env=bare, capture_output=True, timeout=PATIENCE, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def reachable(host: str) -> Finding:
    """Whether a dashboard answers: whoever reaches it can see, and with an open job port run, everything."""
    try:
        socket.create_connection((host, DASHBOARD), timeout=2.0).close()
    except OSError:
        return Finding("dashboard", True, f"none at port {DASHBOARD}")
    return Finding(
        "dashboard", False, f"something answers at port {DASHBOARD}; start Ray with --include-dashboard=false"
    )


def children(pid: int) -> set[int]:
    """Processes that this one started, and theirs."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir() if Path("/proc").is_dir() else ():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def listening(pid: int) -> list[str]:
    """Addresses, as the kernel writes them, on which a process listens."""
    try:
        own = {os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:
        return []
    found = []
    for name in ("tcp", "tcp6"):
        table = Path(f"/proc/{pid}/net/{name}")
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in own:
                found.append(words[1].rpartition(":")[0])
    return found


def require_linux() -> None:
    """The looking goes through /proc."""
    if not Path("/proc/self/net/tcp").exists():
        raise UsageError("engine check: looks at open ports through /proc, which this system does not have")
