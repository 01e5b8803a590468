"""Files for clusters: they parse, and hold the settings that the manual promises."""

import re
import subprocess
from pathlib import Path

import yaml

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def test_kubernetes_gets_tokens_no_root_no_dashboard_and_a_closed_network():
    cluster, policy = yaml.safe_load_all((DEPLOY / "kuberay.yaml").read_text("utf-8"))
    head, (workers,) = cluster["spec"]["headGroupSpec"], cluster["spec"]["workerGroupSpecs"]
    assert head["rayStartParams"]["include-dashboard"] == "false" and head["serviceType"] == "ClusterIP"
    for group in (head, workers):
        pod = group["template"]["spec"]
        (container,) = pod["containers"]
        settings = {one["name"]: one for one in container["env"]}
        assert (
            settings["RAY_AUTH_MODE"]["value"] == "token" and "secretKeyRef" in settings["RAY_AUTH_TOKEN"]["valueFrom"]
        )
        assert pod["securityContext"]["runAsNonRoot"] and not pod["automountServiceAccountToken"]
        assert not container["securityContext"]["allowPrivilegeEscalation"]
        assert group["template"]["metadata"]["labels"] == policy["spec"]["podSelector"]["matchLabels"]
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert all("podSelector" in peer for rule in policy["spec"]["ingress"] for peer in rule["from"])


def test_slurm_keeps_the_token_private_and_the_dashboard_off():
    script = DEPLOY / "slurm.sh"
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
    text = script.read_text("utf-8")
    assert text.index("umask 077") < text.index('>"$private/token"') and "trap cleanup EXIT" in text
    assert "RAY_AUTH_MODE=token" in text and "--include-dashboard=false" in text


def test_the_image_has_no_root_and_its_pins_are_there():
    text = (DEPLOY / "Containerfile").read_text("utf-8")
    assert text.index("USER understudy") < text.index("ENTRYPOINT")
    found = re.findall(r"requirements/\S+\.txt", text)
    assert found and all((DEPLOY.parent / name).exists() for name in found)
