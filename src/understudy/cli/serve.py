"""`understudy serve`: the whole path as a local page in the browser."""

import contextlib
import socket
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.errors import UsageError

app = typer.Typer()
LOOPBACK = ("127.0.0.1", "localhost", "::1")
ANYWHERE = ("0.0.0.0", "::", "")


@app.command(help="The whole path as a page in the browser, on this machine only.")
def serve(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FOLDER...", help="Folders that hold tables; others cannot be opened."),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0: any that is free.")] = 8765,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Put a public table and its schema into the folder, to try the page with.")
    ] = False,
    other_host: Annotated[
        bool, typer.Option("--other-host", help="Let --host be another than this machine; needs the two files below.")
    ] = False,
    tls_certificate: Annotated[
        Path | None, typer.Option("--tls-certificate", help="PEM file for --other-host.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="PEM file for --other-host.")] = None,
) -> None:
    """Serve the page until interrupted. The address that is printed opens it in one browser."""
    remote = check_host(host, other_host, tls_certificate, tls_key)
    try:
        import uvicorn

        from understudy.serve.app import create
    except ModuleNotFoundError as error:
        raise UsageError(f"serve needs the package {error.name!r}; install 'understudy[serve]'") from None
    from understudy.serve.folders import Folders

    named = list(folders or ([Path("demo")] if demo else []))
    if demo:
        put_demo(named[0])
    opened = Folders.named(named)
    listening = listen("127.0.0.1" if host == "localhost" else host, port)
    port = listening.getsockname()[1]
    name = f"[{host}]" if ":" in host else host
    scheme = "https" if tls_certificate else "http"
    hosts = {f"{one}:{port}" for one in ("127.0.0.1", "localhost", "[::1]")} if not remote else {f"{name}:{port}"}
    guard = create(opened, origin=f"{scheme}://{name}:{port}", hosts=frozenset(hosts), tell=_next)
    settings: dict[str, Any] = {"log_level": "warning", "access_log": False, "server_header": False, "ws": "none"}
    if tls_certificate:
        settings |= {"ssl_certfile": str(tls_certificate), "ssl_keyfile": str(tls_key)}
    typer.echo(f"Understudy listens on {scheme}://{name}:{port}. Ctrl-C ends it; a fit that runs can be resumed.\n")
    typer.echo(f"  {guard.address}\n\nOpen this address once; it lets one browser in.")
    if not (no_browser or remote):
        import webbrowser

        webbrowser.open(guard.address)
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is how it ends, and no error
        uvicorn.Server(uvicorn.Config(guard, **settings)).run(sockets=[listening])


def check_host(host: str, other_host: bool, certificate: Path | None, key: Path | None) -> bool:
    """True for another host, which takes a flag and TLS; everything half-said is refused."""
    if (certificate is None) != (key is None):
        raise UsageError("--tls-certificate and --tls-key belong together; name both")
    for option, file in (("--tls-certificate", certificate), ("--tls-key", key)):
        if file is not None and not file.is_file():
            raise UsageError(f"{option} {str(file)!r}: there is no such file")
    if host in LOOPBACK:
        return False
    if not other_host:
        raise UsageError(
            f"--host {host!r} is not this machine, so others could reach the page; add --other-host and a TLS certificate "
            "if that is what you want"
        )
    if host in ANYWHERE:
        raise UsageError(f"--host {host!r} is every address at once; name the one address that browsers will use")
    if certificate is None:
        raise UsageError(
            "--other-host needs --tls-certificate and --tls-key: without TLS anybody on the way could read along"
        )
    return True


def listen(host: str, port: int) -> socket.socket:
    """A socket on exactly that address."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen()  # from now on browsers wait instead of giving up
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}; choose another --port") from None
    return made


def put_demo(folder: Path) -> None:
    """The demo's table as a user would have it: training rows with a schema, held-out rows beside them."""
    from understudy.demo import load

    try:
        train, test, schema = load(0)
    except ModuleNotFoundError as error:
        raise UsageError(f"the demo needs the package {error.name!r}; install 'understudy[evaluate]'") from None
    folder.mkdir(parents=True, exist_ok=True)
    for name, frame in (("visits.csv", train), ("held-out.csv", test)):
        if not (folder / name).exists():
            frame.to_csv(folder / name, index=False)
    if not (folder / "visits.yaml").exists():
        schema.save(folder / "visits.yaml")


def _next(address: str) -> None:
    typer.echo(f"\nOpened. For another browser: {address}")
