"""deploy/kubernetes: the objects of both overlays are valid, and keep what the documents promise."""

from __future__ import annotations

import re
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
from tests.deploy.rule_object import OBJECT, rule_object

OVERLAYS = ("trial", "production")
VERSIONS = ("1.30", "1.34")
WITH_PODS = {"Deployment", "StatefulSet", "Job", "CronJob"}
DRAIN_S = 5
NEEDED = {
    "worker": {"database_url", "access_token"},
    "receiver": {"database_url", "app_secret", "verify_token"},
    "console": {"database_url", "access_token"},
    "sync": {"database_url", "access_token"},
    "migrate": {"database_url"},
    "campaign": {"database_url", "access_token"},
}
Object = dict[str, Any]

SOURCES = sorted(
    path
    for path in (DEPLOY / "kubernetes").rglob("*.yaml")
    if path.name != "kustomization.yaml" and "components" not in path.parts
)


@cache
def objects(overlay: str) -> list[Object]:
    """The objects of a built overlay."""
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl here to build the overlay")
    return build(DEPLOY / "kubernetes/overlays" / overlay)


def build(directory: Path) -> list[Object]:
    words = ["kubectl", "kustomize", directory]
    built = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return list(yaml.safe_load_all(built))


def _key(found: Object) -> tuple[str, str]:
    return found["kind"], found["metadata"]["name"]


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
        for container in [*pod.get("initContainers", []), *pod["containers"]]:
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
        known |= {("Secret", f"drumbeat-{name}") for name in NEEDED}  # from outside
    for name, pod in pods(overlay):
        wanted = {
            ("Secret", volume["secret"]["secretName"]) for volume in pod["volumes"] if "secret" in volume
        }
        wanted |= {
            ("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])
            for volume in pod["volumes"]
            if "persistentVolumeClaim" in volume
        }
        for container in [*pod.get("initContainers", []), *pod["containers"]]:
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
    for name in ("worker", "receiver", "console"):
        labels = named(overlay, "Deployment", name)["spec"]["template"]["metadata"]["labels"]
        selected = named(overlay, "PodDisruptionBudget", name)["spec"]["selector"]["matchLabels"]
        assert selected.items() <= labels.items()


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_person_stays_with_one_console_whose_metrics_are_not_reached_where_its_pages_are(
    overlay: str,
) -> None:
    """Uploads and jobs belong to one pod."""
    assert named(overlay, "Deployment", "console")["spec"]["replicas"] == 2
    service = named(overlay, "Service", "console")["spec"]
    assert service["sessionAffinity"] == "ClientIP"
    assert [port["name"] for port in service["ports"]] == ["page"]
    (allowed,) = named(overlay, "NetworkPolicy", "pages")["spec"]["ingress"]
    assert [port["port"] for port in allowed["ports"]] == ["page"]


def test_the_ingress_leads_to_ports_that_exist_and_keeps_a_browser_with_one_console() -> None:
    for name in ("receiver", "console"):
        ingress = named("production", "Ingress", name)
        (rule,) = ingress["spec"]["rules"]
        (path,) = rule["http"]["paths"]
        target = path["backend"]["service"]
        ports = named("production", "Service", target["name"])["spec"]["ports"]
        assert target["port"]["name"] in {port["name"] for port in ports}
    notes = named("production", "Ingress", "console")["metadata"]["annotations"]
    assert notes["nginx.ingress.kubernetes.io/affinity"] == "cookie"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_node_that_takes_no_pod_holds_nobody_up(overlay: str) -> None:
    """A tainted node counts as an empty one otherwise, and with DoNotSchedule a pod waits for it."""
    found = [(name, rule) for name, pod in pods(overlay) for rule in pod.get("topologySpreadConstraints", [])]
    assert {name for name, _ in found} == {"worker", "receiver", "console"}
    for name, rule in found:
        assert rule["nodeTaintsPolicy"] == "Honor", name
        assert rule["matchLabelKeys"] == ["pod-template-hash"], name


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_changed_setting_changes_no_job_and_restarts_what_runs_for_long(
    overlay: str, tmp_path: Path
) -> None:
    """Kubernetes refuses to change a Job, so `apply` would fail."""
    shutil.copytree(DEPLOY / "kubernetes", tmp_path / "kubernetes")
    settings = tmp_path / "kubernetes/overlays" / overlay / "settings.env"
    settings.write_text(settings.read_text() + "DRUMBEAT_TAG=false\n")
    before = {_key(found): found for found in objects(overlay)}
    after = {_key(found): found for found in build(tmp_path / "kubernetes/overlays" / overlay)}
    jobs = {key for key in before if key[0] == "Job"}
    assert len(jobs) == 2
    for key in jobs:
        assert before[key] == after[key]
        assert before[key]["spec"]["ttlSecondsAfterFinished"] > 0
    for name in ("worker", "receiver", "console"):
        assert before["Deployment", name] != after["Deployment", name]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_each_process_has_the_account_and_the_secrets_that_it_needs_and_no_others(overlay: str) -> None:
    for name, pod in pods(overlay):
        if name not in NEEDED:
            continue
        assert pod["serviceAccountName"] == name
        (container,) = pod["containers"]
        given = {each["name"]: each.get("value") for each in container["env"]}
        files = {word: path for word, path in given.items() if word.endswith("_FILE")}
        assert files == {f"DRUMBEAT_{each.upper()}_FILE": f"/run/secrets/{each}" for each in NEEDED[name]}
        mounted = [volume["secret"]["secretName"] for volume in pod["volumes"] if "secret" in volume]
        assert mounted == [f"drumbeat-{name}"]
        if overlay == "trial":
            assert set(named(overlay, "Secret", f"drumbeat-{name}")["data"]) == NEEDED[name]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_new_version_waits_for_its_migration_while_the_former_one_goes_on(overlay: str) -> None:
    for name in ("worker", "receiver", "console"):
        deployment = named(overlay, "Deployment", name)["spec"]
        assert deployment["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
        pod = deployment["template"]["spec"]
        (waits,), (works,) = pod["initContainers"], pod["containers"]
        assert waits["args"] == ["db", "wait"]
        assert waits["image"] == works["image"] == job(overlay, "migrate")["image"]


def job(overlay: str, name: str) -> dict[str, Any]:
    (container,) = named(overlay, "Job", name)["spec"]["template"]["spec"]["containers"]
    return container


def test_production_names_the_image_by_its_digest() -> None:
    images = {
        container["image"]
        for _, pod in pods("production")
        for container in [*pod.get("initContainers", []), *pod["containers"]]
    }
    assert all(re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", image) for image in images), images


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_names_are_looked_up_wherever_a_cluster_answers_them(overlay: str) -> None:
    (rule,) = named(overlay, "NetworkPolicy", "names")["spec"]["egress"]
    text = yaml.safe_dump(rule)
    assert all(
        word in text for word in ("kube-system", "openshift-dns", "drumbeat/names", "169.254.20.10/32")
    )
    assert {port["port"] for port in rule["ports"]} == {53, 5353}


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


def test_the_operator_of_prometheus_gets_the_same_rules_and_jobs() -> None:
    """It gives no schema of its objects, so their fields are read here."""
    assert yaml.safe_load(OBJECT.read_text()) == rule_object()
    found = {_key(each): each for each in build(OBJECT.parent)}
    for name, port in (("worker", "metrics"), ("receiver", "http"), ("console", "metrics")):
        spec = found["PodMonitor", name]["spec"]
        labels = named("production", "Deployment", name)["spec"]["template"]["metadata"]["labels"]
        assert spec["selector"]["matchLabels"].items() <= labels.items()
        (endpoint,) = spec["podMetricsEndpoints"]
        assert (endpoint["port"], endpoint["honorLabels"]) == (port, True)
        rules = {rule["targetLabel"]: rule for rule in endpoint["relabelings"]}
        assert rules["job"]["replacement"] == f"drumbeat-{name}"
        assert rules["installation"]["sourceLabels"] == ["__meta_kubernetes_namespace"]
