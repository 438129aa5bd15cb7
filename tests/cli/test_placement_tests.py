"""`gitfed test`: what a failing PlacementTest says must be enough to mend it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.world import FILES, commit, gitfed

HEAD = "apiVersion: gitfed.io/v1alpha1\nkind: PlacementTest\nmetadata: {name: web}\nspec:\n"
EXPECT = "  expect:\n  - workload: {kind: Deployment, namespace: shop, name: web}\n"
BY_ROOM = """\
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web, namespace: shop}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment}
  placement:
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
"""
FACTS = """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: eu-1}
spec: {syncMode: Push}
status:
  conditions: [{type: Ready, status: "True"}]
  apiEnablements: [{groupVersion: v1, resources: [{kind: ConfigMap}]}]
"""


SNAPSHOT = """\
# web
  WORKLOAD               eu-1   eu-2   us-1   TOTAL   WHY
  shop/CM/settings       ✓      ✓      ✓      –
  NS/shop                ✓      ✓      ✓      –
  shop/Secret/database   ✓      ✓      ✓      –
  shop/Deploy/web        4      –      2      6
"""


def one(*lines: str) -> str:
    return HEAD + EXPECT + "".join(f"    {line}\n" for line in lines)


def test_what_holds_is_said_in_one_line(fleet: Path) -> None:
    commit(
        fleet,
        {"tests/web.yaml": one("clusters: {min: 2, exclude: [eu-2]}", "replicas: {total: 6, region: {eu: {min: 4}}}")},
    )
    result = gitfed("test")
    assert (result.code, result.out) == (0, "ok  web  tests/web.yaml:1:1\n1 test, 0 failed\n")
    assert "not acted on" not in gitfed("validate").out


@pytest.mark.parametrize(
    ("line", "expected", "got"),
    [
        ("clusters: {min: 3}", "at least 3 clusters", "2: eu-1=4 us-1=2"),
        ("clusters: {max: 1}", "at most 1 cluster", "2: eu-1=4 us-1=2"),
        ("clusters: {include: [eu-2]}", "in cluster eu-2", "eu-1=4 us-1=2"),
        ("clusters: {exclude: [us-1]}", "not in cluster us-1", "eu-1=4 us-1=2"),
        ("replicas: {total: 10}", "10 replicas in all", "6: eu-1=4 us-1=2"),
        ("replicas: {perCluster: {max: 3}}", "at most 3 replicas in cluster eu-1", "4: eu-1=4 us-1=2"),
        ("replicas: {cluster: {us-1: {min: 3}}}", "at least 3 replicas in cluster us-1", "2: eu-1=4 us-1=2"),
        ("replicas: {region: {us: {min: 3}}}", "at least 3 replicas in region us", "2: eu-1=4 us-1=2"),
        ("replicas: {region: {mars: {min: 1}}}", "at least 1 replica in region mars", "0: eu-1=4 us-1=2"),
        ("replicas: {zone: {a: {min: 1}}}", "at least 1 replica in zone a", "0: eu-1=4 us-1=2"),
        ("replicas: {provider: {aws: {min: 1}}}", "at least 1 replica in provider aws", "0: eu-1=4 us-1=2"),
    ],
)
def test_what_does_not_hold_says_expected_got_and_because(fleet: Path, line: str, expected: str, got: str) -> None:
    commit(fleet, {"tests/web.yaml": one(line)})
    result = gitfed("test")
    assert (result.code, result.out) == (1, f"""\
FAIL  web  tests/web.yaml:1:1
  Deployment/shop/web
    expected  {expected}
    got       {got}
    because   PropagationPolicy/shop/web: divided by static weights
1 test, 1 failed
""")  # fmt: skip


def test_a_workload_that_does_not_exist_is_guessed(fleet: Path) -> None:
    commit(fleet, {"tests/web.yaml": one("clusters: {min: 1}").replace("name: web}", "name: wbe}")})
    assert "got       the repository has none: did you mean Deployment/shop/web?" in gitfed("test").out


def test_clusters_fail_on_a_virtual_clock(fleet: Path) -> None:
    given = "  given: {fail: [cluster/us-1]}\n"
    lines = one("clusters: {min: 2}", "replicas: {total: 6}").replace("  expect:", f"{given}  expect:")
    commit(fleet, {"policies/web.yaml": BY_ROOM, "tests/web.yaml": lines})
    assert gitfed("test").out == "ok  web  tests/web.yaml:1:1\n1 test, 0 failed\n"
    commit(fleet, {"policies/web.yaml": FILES["policies/web.yaml"]})
    result = gitfed("test")
    assert result.code == 1
    assert "  given cluster/us-1 fails; after 30m\n" in result.out
    assert "    expected  at least 2 clusters\n" in result.out


def test_a_taint_drives_out_what_does_not_tolerate_it(fleet: Path) -> None:
    given = '  given: {taint: ["cluster/us-1:drain:NoExecute"], until: 1h}\n'
    lines = one("clusters: {exclude: [us-1]}").replace("  expect:", f"{given}  expect:")
    commit(fleet, {"policies/web.yaml": BY_ROOM, "tests/web.yaml": lines})
    assert gitfed("test").code == 0, gitfed("test").out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{fail: [cluster/nope]}", "tests/web.yaml:1:1: cluster/nope names no declared cluster"),
        ('{taint: ["nope"]}', "spec.given.taint: 'nope' is not TARGET:KEY[=VALUE]:EFFECT"),
    ],
)
def test_what_cannot_be_tried_is_an_error_and_no_failure(fleet: Path, given: str, message: str) -> None:
    commit(fleet, {"tests/web.yaml": one("clusters: {min: 1}").replace("  expect:", f"  given: {given}\n  expect:")})
    result = gitfed("test")
    assert result.code == 3
    assert message in result.out


def test_facts_stand_beside_the_test_or_below_the_root(fleet: Path) -> None:
    lines = one("clusters: {min: 2}").replace("  expect:", "  facts: fleet.yaml\n  expect:")
    commit(fleet, {"tests/web.yaml": lines})
    assert "spec.facts names fleet.yaml, which does not exist (looked for tests/fleet.yaml)" in gitfed("test").out
    commit(fleet, {"tests/fleet.yaml": FACTS})
    result = gitfed("test")
    assert result.code == 1, "eu-1 does not serve Deployments by these facts"
    commit(fleet, {"tests/web.yaml": lines.replace("fleet.yaml", "../../etc/passwd")})
    assert "../../etc/passwd leaves the repository" in gitfed("test").out


def test_a_snapshot_is_written_compared_and_written_anew(fleet: Path) -> None:
    commit(fleet, {"tests/web.yaml": HEAD + "  snapshot: web.txt\n"})
    missing = gitfed("test")
    assert missing.code == 1
    assert "snapshot tests/web.txt does not exist (gitfed test --update writes it)" in missing.out
    written = gitfed("test", "--update")
    assert (written.code, written.out) == (0, "wrote  web  tests/web.yaml:1:1\n  tests/web.txt\n1 test, 0 failed\n")
    assert (fleet / "tests" / "web.txt").read_text() == SNAPSHOT
    commit(fleet, {})
    assert gitfed("test").code == 0
    commit(fleet, {"policies/web.yaml": FILES["policies/web.yaml"].replace("weight: 2", "weight: 1")})
    changed = gitfed("test")
    assert changed.code == 1
    assert "  snapshot tests/web.txt differs (gitfed test --update, if this is meant)\n" in changed.out
    assert "-  shop/Deploy/web        4      –      2      6\n" in changed.out


def test_a_snapshot_does_not_leave_the_repository(fleet: Path, tmp_path: Path) -> None:
    commit(fleet, {"tests/web.yaml": HEAD + "  snapshot: ../../out.txt\n"})
    result = gitfed("test", "--update")
    assert result.code == 3
    assert "../../out.txt leaves the repository" in result.out
    (fleet / "tests" / "link").symlink_to(tmp_path)
    commit(fleet, {"tests/web.yaml": HEAD + "  snapshot: link/out.txt\n"})
    assert gitfed("test", "--update").code == 3
    assert not (tmp_path / "out.txt").exists()


def test_some_tests_are_chosen_by_path_or_name(fleet: Path) -> None:
    other = one("clusters: {min: 9}").replace("name: web}\nspec", "name: other}\nspec")
    commit(fleet, {"tests/web.yaml": one("clusters: {min: 1}"), "more/other.yaml": other})
    assert gitfed("test", "tests").code == 0
    assert gitfed("test", "web").code == 0
    assert gitfed("test", "more/other.yaml").code == 1
    assert gitfed("test", "-o", "name").out == "other\n"
    unknown = gitfed("test", "othr")
    assert (unknown.code, unknown.err.splitlines()[:2]) == (
        2, ["error: no PlacementTest 'othr'", "hint: did you mean other?"],
    )  # fmt: skip


def test_results_for_programs(fleet: Path, tmp_path: Path) -> None:
    second = one("clusters: {min: 1}").replace("{name: web}\nspec", "{name: bad}\nspec")
    second = second.replace("  expect:", "  given: {fail: [cluster/nope]}\n  expect:")
    commit(fleet, {"tests/web.yaml": one("clusters: {min: 9}"), "tests/bad.yaml": second})
    report = tmp_path / "report.xml"
    document = json.loads(gitfed("test", "--junit", str(report), "-o", "json").out)
    assert {one["name"]: one["outcome"] for one in document["tests"]} == {"web": "failed", "bad": "error"}
    suites = ElementTree.fromstring(report.read_text())
    assert dict(suites.attrib) == {"tests": "2", "failures": "1", "errors": "1"}
    failure = suites.find("testsuite/testcase[@name='web']/failure")
    assert failure is not None
    assert failure.attrib["message"] == "Deployment/shop/web"
    assert "expected  at least 9 clusters" in (failure.text or "")


def test_without_tests_it_says_so(fleet: Path) -> None:
    result = gitfed("test")
    assert (result.code, result.out, result.err) == (0, "", "no PlacementTest in the repository\n")
