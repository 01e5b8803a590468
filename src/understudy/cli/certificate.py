"""`understudy certificate`: show a model's privacy certificate, or recompute and verify it."""

import json
import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli._output import AsJson, show
from understudy.errors import UsageError

app = typer.Typer(no_args_is_help=True, help="Show a model's privacy certificate, or recompute and verify it.")

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder written by 'understudy fit'.")]


class Form(StrEnum):
    """How a certificate is printed."""

    text = "text"
    json = "json"
    registry = "registry"


FILES = {Form.text: "certificate.txt", Form.json: "certificate.json", Form.registry: "registry.yaml"}


@app.command("show")
def show_(
    model: Model,
    form: Annotated[Form, typer.Option("--format", help="Plain words, JSON, or registry YAML.")] = Form.text,
    as_json: AsJson = False,
) -> None:
    """Print the certificate that came with a model. It is shown as stored: 'verify' checks it."""
    form = Form.json if as_json else form
    file = model / FILES[form]
    if not model.is_dir():
        raise UsageError(f"{str(model)!r} is not a model folder")
    try:
        text = file.read_text(encoding="utf-8")
        if form is Form.json:
            text = json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except FileNotFoundError:
        raise UsageError(f"{str(model)!r} holds no {file.name}: not a model folder, or an incomplete one") from None
    except ValueError:
        raise UsageError(f"{str(file)!r} is damaged; take the model from its source again") from None
    typer.echo(text.rstrip("\n"))


@app.command()
def verify(
    model: Model,
    key: Annotated[
        Path | None, typer.Option("--key", help="Public key: check the signature beside the folder, too.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute epsilon from the ledger and check the hash of every file. Exit code 1 if the claim does not hold."""
    if not model.is_dir():
        raise UsageError(f"{str(model)!r} is not a model folder")
    from understudy.accounting.verification import verify as findings_of

    findings = list(findings_of(model))
    if key is not None:
        from understudy.accounting.verification import Finding
        from understudy.signing import check

        findings.append(Finding("signature", *check(model, key)))
    holds = all(finding.ok for finding in findings)
    show(
        {"holds": holds, "findings": [{"ok": f.ok, "check": f.check, "detail": f.detail} for f in findings]},
        lambda: "\n".join([*(_line(f.ok, f.check, f.detail) for f in findings), _verdict(holds)]),
        as_json,
    )
    if not holds:
        raise typer.Exit(1)


@app.command()
def sign(
    model: Model,
    key: Annotated[Path, typer.Option("--key", help="Private key (PEM, mode 0600); with --new-key it is made.")],
    new_key: Annotated[bool, typer.Option("--new-key", help="Make a new pair: KEY and KEY.pub.")] = False,
    as_json: AsJson = False,
) -> None:
    """Sign a model folder; the signature stands beside it, and 'verify --key KEY.pub' checks it."""
    from understudy import signing

    if new_key:
        signing.make_keys(key)
    elif not key.is_file():
        raise UsageError(f"--key {str(key)!r}: there is no such file; --new-key makes one")
    made = signing.sign(model, key)
    public = f"{key}.pub"
    words = ["understudy", "certificate", "verify", str(model), "--key", public]
    show({"signature": str(made)}, lambda: f"wrote {made}; to check it: {shlex.join(words)}", as_json)


def _verdict(holds: bool) -> str:
    return "The certificate holds." if holds else "The certificate does NOT hold."


def _line(ok: bool, check: str, detail: str) -> str:
    return f"{'ok    ' if ok else 'FAILED'}  {check}: {detail}"
