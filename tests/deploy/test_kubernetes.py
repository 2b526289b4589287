"""deploy/kubernetes: the objects of both overlays are valid, and keep what the documents promise."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.deploy.compose import DEPLOY

OVERLAYS = ("trial", "production")
VERSIONS = ("1.30", "1.34")
WITH_PODS = {"Deployment", "StatefulSet", "Job", "CronJob"}
DRAIN_S = 5
Object = dict[str, Any]

SOURCES = sorted(
    path for path in (DEPLOY / "kubernetes").rglob("*.yaml") if path.name != "kustomization.yaml"
)


@cache
def objects(overlay: str) -> list[Object]:
    """The objects of a built overlay."""
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl here to build the overlay")
    words = ["kubectl", "kustomize", DEPLOY / "kubernetes/overlays" / overlay]
    built = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return list(yaml.safe_load_all(built))


def pods(overlay: str) -> Iterator[tuple[str, Object]]:
    """The name and the specification of the pods of each workload."""
    for found in objects(overlay):
        if found["kind"] in WITH_PODS:
            spec = found["spec"]
            template = (
                spec["jobTemplate"]["spec"]["template"] if found["kind"] == "CronJob" else spec["template"]
            )
            yield found["metadata"]["name"], template["spec"]


def named(overlay: str, kind: str, name: str) -> Object:
    return next(
        found for found in objects(overlay) if found["kind"] == kind and found["metadata"]["name"] == name
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_every_file_follows_its_schema(path: Path, version: str) -> None:
    for found in yaml.safe_load_all(path.read_text("utf-8")):
        kubernetes_validate.validate(found, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_object_follows_its_schema(overlay: str, version: str) -> None:
    for found in objects(overlay):
        kubernetes_validate.validate(found, version, strict=True)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_pod_is_confined(overlay: str) -> None:
    for name, pod in pods(overlay):
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert pod["automountServiceAccountToken"] is False, name
        for container in pod["containers"]:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True, name
            assert context["allowPrivilegeEscalation"] is False, name
            assert context["capabilities"] == {"drop": ["ALL"]}, name
            assert container["resources"].keys() == {"requests", "limits"}, name


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_process_that_runs_for_long_may_drain(overlay: str) -> None:
    for name, pod in pods(overlay):
        if name in {"worker", "receiver", "console", "campaign"}:
            waits_s = sum(
                int(step.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", ["", "0"])[1])
                for step in pod["containers"]
            )
            assert pod["terminationGracePeriodSeconds"] >= waits_s + 2 * DRAIN_S, name


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_whatever_a_pod_mounts_or_reads_exists(overlay: str) -> None:
    known = {(found["kind"], found["metadata"]["name"]) for found in objects(overlay)}
    if overlay == "production":
        known.add(("Secret", "drumbeat"))  # from outside
    for name, pod in pods(overlay):
        wanted = {
            ("Secret", volume["secret"]["secretName"]) for volume in pod["volumes"] if "secret" in volume
        }
        wanted |= {
            ("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])
            for volume in pod["volumes"]
            if "persistentVolumeClaim" in volume
        }
        for container in pod["containers"]:
            wanted |= {
                ("ConfigMap", source["configMapRef"]["name"]) for source in container.get("envFrom", [])
            }
        assert wanted <= known, name


def test_production_holds_no_secret_and_no_emulator() -> None:
    assert not [found for found in objects("production") if found["kind"] == "Secret"]
    assert "emulator" not in yaml.safe_dump_all(objects("production"))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_campaign_never_runs_twice_at_a_time_and_sends_to_nobody_unasked(overlay: str) -> None:
    campaign = named(overlay, "CronJob", "campaign")["spec"]
    assert campaign["concurrencyPolicy"] == "Forbid"
    assert campaign["suspend"] is True


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_what_scales_and_what_may_be_disrupted_exists(overlay: str) -> None:
    scaler = named(overlay, "HorizontalPodAutoscaler", "receiver")["spec"]["scaleTargetRef"]
    assert named(overlay, scaler["kind"], scaler["name"])
    assert "replicas" not in named(overlay, "Deployment", "receiver")["spec"], "the autoscaler alone decides"
    for name in ("worker", "receiver"):
        labels = named(overlay, "Deployment", name)["spec"]["template"]["metadata"]["labels"]
        selected = named(overlay, "PodDisruptionBudget", name)["spec"]["selector"]["matchLabels"]
        assert selected.items() <= labels.items()


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_console_is_one_pod_whose_metrics_are_not_reached_where_its_pages_are(overlay: str) -> None:
    """A second pod would refuse the forms of the first one."""
    console = named(overlay, "Deployment", "console")["spec"]
    assert (console["replicas"], console["strategy"]) == (1, {"type": "Recreate"})
    assert [port["name"] for port in named(overlay, "Service", "console")["spec"]["ports"]] == ["page"]
    (allowed,) = named(overlay, "NetworkPolicy", "pages")["spec"]["ingress"]
    assert [port["port"] for port in allowed["ports"]] == ["page"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_policy_selects_a_pod(overlay: str) -> None:
    labels = [
        (found["spec"]["jobTemplate"]["spec"] if found["kind"] == "CronJob" else found["spec"])["template"][
            "metadata"
        ]["labels"]
        for found in objects(overlay)
        if found["kind"] in WITH_PODS
    ]
    for found in objects(overlay):
        if found["kind"] == "NetworkPolicy":
            wanted = found["spec"]["podSelector"].get("matchLabels", {})
            assert any(wanted.items() <= given.items() for given in labels), found["metadata"]["name"]
