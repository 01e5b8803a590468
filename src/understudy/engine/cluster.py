"""Ray Core (extra `cluster`, 2.52 or later): a Ray of our own on loopback, or a cluster that is there already.

Ray runs any code that reaches its ports, so it is closed before it is used:

- **Token authentication is on.** A Ray that is started here gets a fresh token from the operating system; for a cluster
  `RAY_AUTH_MODE=token` and its token must be set, and an engine without it is refused.
- **No dashboard, no usage reports, loopback only** unless an address is given.
- **Private files**: sockets, logs and spilled objects of a Ray that is started here lie in a folder of mode 0700, removed
  at the end and, after a kill, at the next start (`understudy.scratch`).
- Workers raise nothing and print nothing about rows (`base.attempt`): Ray writes what is raised into its logs.

A task whose worker died is run again by Ray itself, at most `RETRIES` times. `understudy engine check` says what is open.
"""

import logging
import os
import secrets
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

from understudy.engine.answer import FAILED, Answer, attempt
from understudy.engine.base import WORKER, Engine, check_cancel
from understudy.engine.processes import POLL_SECONDS, THREADS
from understudy.engine.seats import Seat
from understudy.errors import UsageError
from understudy.scratch import Scratch, private_folder

OLDEST = (2, 52)  # the first with token authentication
RETRIES = 3
PREFIX = "ray-"  # short: the names of Ray's sockets, with all their folders, must stay below 107 bytes
STORE = 256 << 20  # bytes of shared memory for a Ray on this machine; sums and tasks are small
MODE, TOKEN, TOKEN_PATH = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"
_OWN_TOKEN = secrets.token_hex(32)  # Ray keeps a process's first token in memory, so one is made for each process


def require_ray() -> str:
    """The version of the installed Ray; UsageError if there is none, or one that knows no tokens."""
    try:
        found = version("ray")
    except PackageNotFoundError:
        raise UsageError("engine 'ray' needs Ray; install it with: pip install 'understudy[cluster]'") from None
    if tuple(int(part) for part in found.split(".")[:2]) < OLDEST:
        raise UsageError(
            f"engine 'ray': version {found} of Ray lets anybody who reaches its ports run code; 2.52 or later is needed"
        )
    return found


class Ray(Engine):
    """Workers of a Ray cluster."""

    name = "ray"

    def __init__(self, workers: int, address: str = "") -> None:
        require_ray()
        self._workers, self.address = workers, address
        self._home: Scratch | None = None
        self._ray: ModuleType | None = None

    @property
    def workers(self) -> int:
        """Cores of the cluster, which has to be joined to know them; of a Ray of our own as many as were named."""
        if self.address:
            self.start()
        return self._workers

    def answers(
        self,
        function: Callable[[Any], Any],
        tasks: Sequence[Any],
        *,
        closed: bool,
        ahead: int,
        cancel: threading.Event | None = None,
    ) -> Iterator[Answer]:
        """See `Engine.answers`."""
        ray = self.start()
        remote = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(in_ray)
        work = ray.put((function, closed))
        todo, running, done = deque(range(len(tasks))), dict[Any, int](), 0
        try:
            while todo or running:
                while todo and todo[0] < min([*running.values(), todo[0]]) + ahead:
                    number = todo.popleft()
                    running[remote.remote(work, number, tasks[number])] = number
                ready, _ = ray.wait(list(running), num_returns=1, timeout=POLL_SECONDS)
                for reference in ready:
                    del running[reference]
                    done += 1
                    yield self._fetched(reference)
                check_cancel(cancel, done, len(tasks))
        finally:
            for reference in running:  # those that nobody waits for any more
                ray.cancel(reference, force=True)

    def seats(self, most: int) -> list[Seat]:
        """An actor for each."""
        ray = self.start()
        return [RaySeat(ray) for _ in range(min(most, self._workers))]

    @property
    def home(self) -> Path:
        """The private folder of a Ray that was started here."""
        if self._home is None:
            raise RuntimeError("this engine has not started a Ray of its own")
        return self._home.folder

    def _fetched(self, reference: Any) -> Answer:
        ray = self.start()
        try:
            found: Answer = ray.get(reference)
        except ray.exceptions.RayError as error:
            lost = isinstance(error, ray.exceptions.WorkerCrashedError | ray.exceptions.NodeDiedError)
            why = f"workers died {RETRIES + 1} times over the same piece" if lost else FAILED
            raise UsageError(f"engine 'ray': {why}; look at the cluster, or use engine 'processes'") from None
        return found

    def start(self) -> ModuleType:
        """The ray module, connected."""
        if self._ray is None:
            self._ray = joined(self.address) if self.address else self._local()
            if self.address:
                self._workers = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        return self._ray

    def close(self) -> None:
        """Leave the cluster, or end the Ray that was started here and remove its files."""
        if self._ray is not None:
            self._ray.shutdown()
            self._ray = None
        if self._home is not None:
            self._home.remove()
            self._home = None

    def _local(self) -> ModuleType:
        """A Ray of our own: loopback, token, no dashboard, private files."""
        self._home = private_folder(None, PREFIX)
        inside = (
            Path(self._home.folder) / "ray"
        )  # Ray opens its own folder to everybody; the one around it stays closed
        os.environ |= {MODE: "token", TOKEN: _OWN_TOKEN, "RAY_USAGE_STATS_ENABLED": "0"}
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = (
            "0"  # Ray's word for: loopback, not the address of this machine
        )
        for_workers = dict.fromkeys((*THREADS, WORKER), "1") | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        before = {name: os.environ.get(name) for name in for_workers}
        os.environ |= for_workers
        try:
            ray = quiet_ray()
            with warnings.catch_warnings():
                # JAX warns of forks; Ray's children become other programs at once and never call JAX.
                warnings.filterwarnings("ignore", message=r"os\.fork", category=RuntimeWarning)
                about = ray.init(
                    address="local",
                    num_cpus=self._workers,
                    include_dashboard=False,
                    object_store_memory=STORE,
                    log_to_driver=False,
                    configure_logging=False,
                    _temp_dir=str(inside),
                    object_spilling_directory=str(Path(self._home.folder) / "spilled"),
                )
        except BaseException:
            self.close()
            raise
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name)
                else:
                    os.environ[name] = value
        if about.address_info["node_ip_address"] != "127.0.0.1":
            ray.shutdown()
            self.close()
            raise UsageError(
                "engine 'ray': Ray was imported before and would listen on the network; name the engine before importing ray"
            )
        return ray


class RaySeat(Seat):
    """One actor."""

    def __init__(self, ray: ModuleType) -> None:
        self._ray = ray
        self._actor: Any = None
        self._reference: Any = None

    def _send(self) -> None:
        if self._actor is None:
            self._actor = self._ray.remote(num_cpus=1, max_restarts=0)(Seated).remote()
        function, task = self._work
        self._reference = self._actor.run.remote((function, True), 0, task)

    def _received(self) -> Answer | None:
        try:
            found: Answer = self._ray.get(self._reference)
        except self._ray.exceptions.RayActorError:
            return None
        except self._ray.exceptions.RayError:
            raise UsageError(f"engine 'ray': {FAILED}; look at the cluster, or use engine 'processes'") from None
        return found

    def close(self) -> None:
        """End the actor."""
        if self._actor is not None:
            self._ray.kill(self._actor)
            self._actor = None


class Seated:
    """In a worker of a cluster: a process that stays."""

    def run(self, work: tuple[Callable[[Any], Any], bool], number: int, task: Any) -> Answer:
        """One task; what it leaves in the process is there for the next."""
        return in_ray(work, number, task)


def in_ray(work: tuple[Callable[[Any], Any], bool], number: int, task: Any) -> Answer:
    """`attempt`, in a worker of a cluster, which may have been started by anybody."""
    os.environ[WORKER] = "1"
    return attempt(*work, number, task)


def joined(address: str) -> ModuleType:
    """The ray module, connected to a cluster that is there already and asks for a token."""
    if "://" in address or ":" not in address:
        raise UsageError(f"engine 'ray@{address}': give HOST:PORT of a cluster that this machine has joined")
    os.environ.setdefault(MODE, "token")
    if os.environ[MODE] != "token" or not has_token():
        raise UsageError(
            f"engine 'ray@{address}': a cluster without a token runs anybody's code; set {MODE}=token and {TOKEN_PATH} (or "
            f"{TOKEN}) here and on every node"
        )
    ray = quiet_ray()
    try:
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise UsageError(
            f"engine 'ray@{address}': cannot join the cluster ({type(error).__name__}); is it running there, with this token, "
            "and has this machine joined it ('ray start')?"
        ) from None
    return ray


def has_token() -> bool:
    """Whether there is a token for a cluster."""
    named = os.environ.get(TOKEN_PATH)
    return bool(os.environ.get(TOKEN)) or Path(named or Path.home() / ".ray" / "auth_token").is_file()


def quiet_ray() -> ModuleType:
    """The module, whose own messages are not ours to show."""
    import ray

    logging.getLogger("ray").setLevel(logging.CRITICAL)
    if ray.is_initialized():
        raise UsageError("engine 'ray': this program uses a Ray already; call ray.shutdown() first")
    return ray
