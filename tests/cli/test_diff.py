"""What a reviewer reads: causes, limits of the base, what is said once, and what must not be shown."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from gitfed.cli.output import manifest_text
from gitfed.cli.output.diff import comment
from gitfed.offline import preview
from tests.cli.world import FILES, cluster, commit, deployment, git, gitfed, repository
from tests.support.signing import with_ssh

RANGE = ("diff", "HEAD~1..HEAD")
TOKEN = "tok-4711-moonlight"


@pytest.fixture(autouse=True, params=["rendered at once", "rendered when looked at"])
def rendering(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large repositories are rendered where something can differ: it must make no difference to a reader."""
    monkeypatch.setattr(preview, "LARGE", 0 if request.param == "rendered when looked at" else 10**9)


def document(*arguments: str) -> dict:
    return json.loads(gitfed(*RANGE, "-o", "json", *arguments).out)


def test_limits_are_those_of_the_base_and_a_change_of_them_is_called_out(fleet: Path) -> None:
    settings = FILES["gitfed.yaml"] + "spec: {guards: {maxDeletions: 1, maxDeletionPercent: 100}}\n"
    commit(fleet, {"gitfed.yaml": settings})
    commit(fleet, {"gitfed.yaml": settings.replace("maxDeletions: 1", "maxDeletions: 99"), "apps/config.yaml": None})
    result = gitfed(*RANGE)
    assert "  ~ Federation/acme changed  gitfed.yaml:1:1" in result.out
    assert (
        "      spec.guards.maxDeletions: 1 → 99\n      limits change: this review goes by those of the base\n"
        in result.out
    )
    assert "Gates   deletions 6/1 HELD 6 changes" in result.out
    assert "**limits change** in" in gitfed(*RANGE, "-o", "md").out


def test_state_and_facts_branches_are_those_of_the_base(fleet: Path) -> None:
    git(fleet, "branch", "evil")
    commit(fleet, {"gitfed.yaml": FILES["gitfed.yaml"] + "spec: {state: {branch: evil, factsBranch: evil-facts}}\n"})
    assert "No branch gitfed/state:" in gitfed(*RANGE).out


def test_what_a_policy_change_concerns_is_counted(fleet: Path) -> None:
    commit(fleet, {"policies/web.yaml": FILES["policies/web.yaml"].replace("weight: 2", "weight: 5")})
    (cause,) = document()["declared"]
    assert (cause["kind"], cause["name"], cause["origin"]) == ("PropagationPolicy", "web", "policies/web.yaml:1:1")
    assert cause["fields"] == [
        {
            "path": "/spec/placement/replicaScheduling/weightPreference/staticWeightList/0/weight",
            "before": 2,
            "after": 5,
        }
    ]
    assert (cause["concerns"], cause["differing"]) == (["Deployment.apps/shop/web"], ["Deployment.apps/shop/web"])


def test_what_an_override_hits_is_counted(fleet: Path) -> None:
    commit(fleet, {"policies/rest.yaml": FILES["policies/rest.yaml"].replace("eu.example.com", "mirror.example.com")})
    (cause,) = document()["declared"]
    assert (cause["kind"], cause["concerns"]) == ("OverridePolicy", ["Deployment.apps/shop/web"])


def test_replicas_that_leave_one_cluster_for_another_are_a_move(fleet: Path) -> None:
    commit(fleet, {"policies/web.yaml": FILES["policies/web.yaml"].replace("[us-1]", "[eu-2]")})
    result = gitfed(*RANGE)
    assert "  shop/Deploy/web: 2 replicas move: us-1 (2) → eu-2 (2)\n" in result.out
    assert "shop/Deploy/web new  in eu-2, as in eu-1\n" in result.out
    assert "shop/Deploy/web gone  in us-1, stays in eu-1\n" in result.out
    assert "Total:  1 create, 0 update, 1 move, 0 delete in 2 of 3 clusters." in result.out
    found = {(one["change"], one["clusters"][0]): one["diff"] for one in document()["manifests"]}
    assert "-kind: Deployment" in found["gone", "us-1"]
    assert "+kind: Deployment" in found["new", "eu-2"]


def test_what_earlier_commits_left_is_told_though_no_manifest_differs(fleet: Path) -> None:
    commit(fleet, {"policies/web.yaml": FILES["policies/web.yaml"] + "  suspension: {dispatching: true}\n"})
    commit(fleet, {"policies/web.yaml": FILES["policies/web.yaml"]})
    assert (
        "Left by earlier commits\n  update   shop/Deploy/web   eu-1 us-1   suspension ended: applied where it differs\n"
    ) in gitfed(*RANGE).out
    assert "<b>Left by earlier commits</b> (1)" in gitfed(*RANGE, "-o", "md").out


def test_the_same_step_with_other_values_around_it_is_shown_once(fleet: Path) -> None:
    commit(fleet, {"apps/web.yaml": deployment(image="web:2")})
    text = gitfed(*RANGE).out
    assert "shop/Deploy/web changed  alike in 2 clusters, shown for eu-1: eu-1 us-1\n" in text
    assert text.count("@@") == 2
    exact = {tuple(one["clusters"]) for one in document()["manifests"]}
    assert exact == {("eu-1",), ("us-1",)}


def test_a_new_object_is_shown_whole_once_and_then_what_differs(fleet: Path) -> None:
    new = deployment().replace("name: web, namespace", "name: api, namespace")
    commit(fleet, {"apps/api.yaml": new})
    text = gitfed(*RANGE).out
    assert text.count("kind: Deployment") == 1
    assert "shop/Deploy/api new  in us-1, as in eu-1\n" in text
    head = git(fleet, "rev-parse", "--short", "HEAD")
    titles = f"--- {head}/Deployment.apps/shop/api in eu-1\n+++ {head}/Deployment.apps/shop/api in us-1\n"
    assert titles in text, "two clusters of one commit"


def test_every_member_of_the_document_is_described(fleet: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "diff-json.md").read_text()
    commit(fleet, {"policies/web.yaml": FILES["policies/web.yaml"].replace("[us-1]", "[eu-2]")})
    found = document()
    parts = [found, found["declared"][0], found["placement"][0], found["manifests"][0]]
    for text, members in zip(page.split("\n## "), parts, strict=True):
        cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
        named = {word.removesuffix("[]") for cell in cells for word in re.findall(r"`([^`]+)`", cell)}
        assert named == set(members)


def test_old_facts_are_said_to_be_old(fleet: Path) -> None:
    git(fleet, "checkout", "-q", "--orphan", "gitfed/facts")
    git(fleet, "rm", "-rfq", ".")
    commit(
        fleet, {"clusters/eu-1.yaml": cluster("eu-1", "eu") + 'status: {conditions: [{type: Ready, status: "True"}]}\n'}
    )
    git(fleet, "checkout", "-q", "main")
    commit(fleet, {"apps/web.yaml": deployment(9)})
    fresh = gitfed(*RANGE, "--now", "2026-01-02T05:00:00Z").out
    old = gitfed(*RANGE, "--now", "2026-01-05T05:00:00Z").out
    assert "days old" not in fresh
    assert "note: Facts are 3 days old: is the daemon running, and was its branch fetched?\n" in old


def test_a_commit_that_a_daemon_would_refuse_is_said_to_wait(fleet: Path, tmp_path: Path) -> None:
    ada = with_ssh("ada", tmp_path)
    verify = "spec: {sources: {verify: {commits: all, keys: [keys/ada.pub]}}}\n"
    signed = commit(fleet, {"gitfed.yaml": FILES["gitfed.yaml"] + verify, "keys/ada.pub": ada.public})
    ada.git(fleet, "commit", "-q", "--amend", "--no-edit")
    bad = commit(fleet, {"apps/config.yaml": None})
    why = f"a daemon would not apply {bad[:7]} as it is: {bad[:12]} is not signed"
    assert f"\nwaits: {why}\n" in gitfed(*RANGE).out
    assert "- **would wait**: a daemon would not apply " in gitfed(*RANGE, "-o", "md").out
    assert document()["refused"] == f"{bad[:12]} is not signed"
    assert why not in gitfed("diff", f"{signed}..HEAD~1").out
    ada.git(fleet, "commit", "-q", "--amend", "--no-edit")
    assert document()["refused"] is None


def test_what_stays_in_a_cluster_that_is_declared_no_more_is_not_said_to_go(fleet: Path) -> None:
    commit(fleet, {"clusters/us-1.yaml": None})
    assert "shop/CM/settings kept  in us-1, still placed in eu-1 (not managed any more)\n" in gitfed(*RANGE).out
    found = {(one["kind"], one["change"]): one["written"] for one in document()["manifests"]}
    assert found["ConfigMap", "kept"] is False
    assert found["Deployment", "changed"] is True, "its replicas go elsewhere"


def test_what_a_removed_policy_leaves_behind_is_kept_and_not_lost(fleet: Path) -> None:
    commit(fleet, {"policies/web.yaml": None})
    said = "policy PropagationPolicy/shop/web → none; 2 copies stay, not managed any more"
    assert re.search(rf"shop/Deploy/web +4 kept +– +2 kept +6 kept +{said}\n", gitfed(*RANGE).out)
    comment = gitfed(*RANGE, "-o", "md").out
    assert "**Writes nothing to any cluster. 2 copies stay, not managed any more.**" in comment
    assert "-kind: Deployment" not in comment
    found = document()
    (row,) = (one for one in found["placement"] if one["resource"]["kind"] == "Deployment")
    assert row["kept"] == [
        {"name": "eu-1", "replicas": 4, "reasonCode": "Orphaned"},
        {"name": "us-1", "replicas": 2, "reasonCode": "Orphaned"},
    ]
    changes = {(one["kind"], one["change"], one["diff"].count("\n")) for one in found["manifests"]}
    assert changes == {("Deployment", "kept", 1)}, "two title lines, and nothing that goes"
    assert "kept, not written" not in gitfed(*RANGE, "--stat").out


def test_a_namespace_stays_where_a_gate_holds_what_is_in_it(fleet: Path) -> None:
    commit(fleet, {"apps/config.yaml": None})
    found = {(one["cluster"], one["name"]): (one["action"], one["reason"]) for one in document()["changes"]}
    assert found["eu-2", "settings"] == ("skip", "gate deletion percent: 55% of at most 25%")
    assert found["eu-2", "shop"] == ("keep", "stays until ConfigMap/shop/settings has left it")


def test_many_new_clusters_are_one_cause_and_few_are_one_each(fleet: Path) -> None:
    commit(fleet, {f"clusters/edge-{n:02}.yaml": cluster(f"edge-{n:02}", "eu") for n in range(20)})
    text = gitfed(*RANGE).out
    assert "  + Cluster (20) new  in 20 files  concern 3 objects, all of them differ\n      edge-00 edge-01 " in text
    assert text.count("  + ") == 1
    comment = gitfed(*RANGE, "-o", "md").out
    assert "- **new** <code>Cluster (20)</code> in <code>20 files</code>: concern 3 objects" in comment
    commit(fleet, {"clusters/edge-00.yaml": None, "clusters/edge-01.yaml": None})
    text = gitfed(*RANGE).out
    assert "  - Cluster/edge-00 gone  clusters/edge-00.yaml:1:1  concerns 3 objects, all of them differ\n" in text
    assert "  - Cluster/edge-01 gone" in text


def test_that_a_policy_changed_stands_beside_what_it_places(fleet: Path) -> None:
    commit(fleet, {"policies/web.yaml": FILES["policies/web.yaml"].replace("weight: 2", "weight: 5")})
    text = gitfed(*RANGE).out
    assert "its policy changed; divided by static weights" in text
    assert "concerns 1 object, which differs\n" in text


def test_other_words_for_the_same_are_nothing_to_write(fleet: Path) -> None:
    before = FILES["apps/web.yaml"].replace('"web:1"}', '"web:1", resources: {limits: {cpu: 1}}}')
    commit(fleet, {"apps/web.yaml": before})
    commit(fleet, {"apps/web.yaml": before.replace("cpu: 1}", "cpu: 1000m}")})
    result = gitfed(*RANGE)
    assert (result.code, result.out) == (0, "")
    assert "note: 1 manifest written in other words, with the same meaning\n" in result.err
    commit(fleet, {"apps/config.yaml": None})
    both = gitfed("diff", "HEAD~2..HEAD")
    assert "shop/Deploy/web changed  same in 2 clusters: eu-1 us-1 (means the same there: not written)\n" in both.out
    assert re.search(r"Total:  0 create, 0 update, 0 move, \d delete", both.out)


def test_why_it_goes_away_stands_where_it_goes_away(fleet: Path) -> None:
    """`✓ → –` beside "every matching cluster" would say why the others keep it."""
    placed = FILES["policies/rest.yaml"].replace("placement: {}", "placement: {clusterAffinity: {exclude: [us-1]}}")
    commit(fleet, {"policies/rest.yaml": placed})
    (row,) = (line for line in gitfed(*RANGE).out.splitlines() if line.startswith("  shop/CM/settings "))
    assert row.endswith("   its policy changed; leaves us-1: did not match the placement cluster affinity constraint")


def test_without_a_change_there_is_no_comment(fleet: Path) -> None:
    commit(fleet, {"README.md": "words\n"})
    result = gitfed(*RANGE, "-o", "md")
    assert (result.code, result.out) == (0, "")


def test_an_unknown_base_and_unrelated_histories_are_said(fleet: Path) -> None:
    unknown = gitfed("diff", "nosuch..HEAD")
    assert (unknown.code, unknown.out) == (4, "")
    assert "no commit called 'nosuch'" in unknown.err
    git(fleet, "checkout", "-q", "--orphan", "other")
    commit(fleet, {"x.txt": "x\n"})
    result = gitfed("diff", "main...other")
    assert result.code == 4
    assert "main and " in result.err
    assert "have no common history" in result.err
    assert gitfed("diff", "main..other").code == 0  # two trees can always be compared


def test_a_shallow_clone_is_told_how_to_deepen(fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(fleet, "checkout", "-q", "-b", "feature")
    commit(fleet, {"apps/web.yaml": deployment(9)})
    git(fleet, "checkout", "-q", "main")
    commit(fleet, {"apps/web.yaml": deployment(7)})
    shallow = tmp_path / "shallow"
    subprocess.run(
        ["git", "clone", "-q", "--depth=1", "--no-single-branch", fleet.as_uri(), str(shallow)], check=True
    )  # fmt: skip
    git(shallow, "checkout", "-q", "feature")
    monkeypatch.chdir(shallow)
    result = gitfed("diff")
    assert result.code == 4
    assert "as far as this shallow clone tells" in result.err
    assert "hint: deepen it: git fetch --unshallow origin\n" in result.err


@pytest.mark.parametrize("form", ["text", "wide", "json", "yaml", "md", "name"])
def test_a_secret_stays_hidden_wherever_it_was_copied(fleet: Path, form: str) -> None:
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: token, namespace: shop}}\nstringData: {{t: {TOKEN}}}\n"
    copies = deployment().replace(
        '{name: web, image: "web:1"}',
        f'{{name: web, image: "web:1", args: ["--token={TOKEN}"], env: [{{name: T, value: {TOKEN}}}]}}',
    )
    config = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: shop\n"
        f"  annotations: {{note: 'it is {TOKEN}', gitfed.io/wave: {TOKEN}}}\ndata: {{colour: red, token: {TOKEN}}}\n"
    )
    override = f"""\
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {{name: token, namespace: shop}}
spec:
  resourceSelectors: [{{apiVersion: v1, kind: Secret}}]
  overrideRules:
  - overriders: {{plaintext: [{{path: /stringData/t, operator: replace, value: moonlight-{TOKEN}-two}}]}}
"""
    commit(fleet, {"policies/token.yaml": override.replace("-two", "-one")})
    commit(fleet, {"apps/token.yaml": secret, "apps/web.yaml": copies, "apps/copy.yaml": config,
                   "apps/config.yaml": None, "policies/token.yaml": override})  # fmt: skip
    result = gitfed(*RANGE, "-o", form)
    assert result.code == 3, result.err
    assert "annotation gitfed.io/wave: '***' is no whole number" in result.err
    assert TOKEN not in result.out + result.err
    assert "moonlight" not in result.out + result.err


def test_a_file_that_breaks_is_said_and_not_called_unchanged(fleet: Path) -> None:
    commit(fleet, {"apps/web.yaml": FILES["apps/web.yaml"] + "\t: {"})
    result = gitfed("diff", "HEAD~1..HEAD")
    assert (result.code, result.out) == (3, "")
    broken, said = result.err.splitlines()
    assert broken.startswith("apps/web.yaml:")
    base, head = (git(fleet, "rev-parse", "--short=7", one) for one in ("HEAD~1", "HEAD"))
    assert said == f"No other differences between {base} and {head}: files with errors count as they were."


def test_a_short_secret_is_not_cut_out_of_other_words(fleet: Path) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop}\n"
    commit(fleet, {"apps/s.yaml": secret + "stringData: {a: blue, b: settin, c: web}\n"})
    commit(fleet, {"apps/config.yaml": FILES["apps/config.yaml"].replace("blue", "red, mode: settings")})
    text = gitfed(*RANGE).out
    assert "-  colour: blue" in text
    assert "+  mode: settings" in text


def test_hostile_names_stay_text_in_a_comment(fleet: Path) -> None:
    hostile = '"<img src=x onerror=alert(1)> | @everyone [x](javascript:alert) ```\\n# title"'
    config = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: nasty, namespace: shop}}\ndata: {{k: {hostile}}}\n"
    policy = (
        FILES["policies/web.yaml"]
        .replace("weight: 2", "weight: 4")
        .replace("name: web, namespace: shop}", "name: web, namespace: shop, annotations: {x: '</code><script>|@all'}}")
    )
    commit(fleet, {"apps/nasty.yaml": config, "policies/web.yaml": policy})
    text = gitfed(*RANGE, "-o", "md").out
    outside = [line for line in text.splitlines() if not line.startswith(("+", "-  ", " "))]
    assert not any(bad in line for line in outside for bad in ("<img", "<script", "@everyone", "@all", "javascript:"))
    fences = [line for line in text.splitlines() if line.startswith("```")]
    assert len(fences) % 2 == 0
    assert any(line.startswith("````diff") for line in fences)


def test_a_comment_fits_whatever_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = {
        f"apps/{number}.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{number}, namespace: shop}}\n"
        f"data: {{k: '{'x' * 200}'}}\n"
        for number in range(1200)
    }
    path = repository(tmp_path / "large", FILES | many)
    monkeypatch.chdir(path)
    commit(path, {name: text.replace("x" * 200, "y" * 300) for name, text in many.items()})
    lengths = []
    for count in (5, 120, 1200):
        git(path, "checkout", "-q", "-B", f"only-{count}", "main~1")
        names = list(many)[:count]
        commit(path, {name: many[name].replace("x" * 200, "y" * 300) for name in names})
        text = gitfed("diff", "main~1..HEAD", "-o", "md").out
        assert text.startswith(f"{comment.MARKER}\n### gitfed: ")
        assert f"{3 * count} updates in 3 of 3 clusters." in text
        lengths.append(len(text))
    assert max(lengths) < 65_000


MANIFEST = """\
spec:
  replicas: 1
  template:
    spec:
      containers:
      - env:
        - name: LEVEL
          value: info
        image: x
        name: web
      - image: y
data:
  text: |
    not: a field
"""


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("  replicas: 1", "spec.replicas"),
        ("          value: info", "spec.template.spec.containers[web].env[LEVEL].value"),
        ("        image: x", "spec.template.spec.containers[web].image"),
        ("      - image: y", "spec.template.spec.containers[1].image"),
        ("data:", "data"),
    ],
)
def test_a_hunk_says_which_field_it_is_in(line: str, place: str) -> None:
    lines = MANIFEST.splitlines()
    assert manifest_text.place_of(lines, lines.index(line)) == place


def test_stat_says_in_a_line_each_what_differs_where_and_by_how_much(fleet: Path) -> None:
    commit(fleet, {"apps/web.yaml": deployment(image="web:2"), "apps/config.yaml": None})
    result = gitfed(*RANGE, "--stat")
    assert result.code == 1
    head, *rows, total, everything = [line.split() for line in result.out.splitlines()]
    assert head == ["OBJECT", "CHANGE", "CLUSTERS", "LINES"]
    assert ["shop/Deploy/web", "changed", "eu-1", "us-1", "+1", "-1"] in rows
    whole = gitfed(*RANGE).out.partition("Manifests\n")[2].splitlines()
    added = [line for line in whole if re.match(r" *\+(?!\+\+ )", line)]
    removed = [line for line in whole if re.match(r" *-(?!-- )", line)]
    objects = {row[0] for row in rows}
    assert " ".join(total) == f"{len(objects)} objects, +{len(added)} -{len(removed)} lines"
    assert everything[0] == "Total:"
    assert "@@" not in result.out


def test_stat_is_not_for_programs(fleet: Path) -> None:
    result = gitfed("diff", "--stat", "-o", "json")
    assert (result.code, result.err) == (
        2, "error: --stat is a table for people, and -o json is not\nhint: leave out one of them\n",
    )  # fmt: skip


def test_stat_says_nothing_where_nothing_differs(fleet: Path) -> None:
    result = gitfed("diff", "HEAD..HEAD", "--stat")
    assert (result.code, result.out) == (0, "")


def cloned(fleet: Path, monkeypatch: pytest.MonkeyPatch, remote: str = "origin", *, head: bool = True) -> Path:
    """A clone with one commit on the default branch that is not pushed."""
    clone = fleet.parent / "clone"
    git(fleet.parent, "clone", "-q", "-o", remote, str(fleet), str(clone))
    if not head:
        git(clone, "remote", "set-head", remote, "--delete")
    monkeypatch.chdir(clone)
    commit(clone, {"apps/web.yaml": deployment(12)})
    return clone


@pytest.mark.parametrize("head", [True, False], ids=["with its HEAD", "without its HEAD"])
@pytest.mark.parametrize("remote", ["origin", "company"])
def test_on_the_default_branch_its_upstream_is_the_base(
    fleet: Path, monkeypatch: pytest.MonkeyPatch, remote: str, head: bool
) -> None:
    clone = cloned(fleet, monkeypatch, remote, head=head)
    result = gitfed("diff", "-o", "name")
    assert (result.code, result.out) == (1, "Deployment.apps/shop/web\n")
    git(clone, "checkout", "-q", "--detach")
    assert gitfed("diff", "-o", "name").out == "Deployment.apps/shop/web\n", "HEAD is detached"


def test_a_default_branch_of_another_name_is_found_by_its_upstream(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(fleet, "branch", "-m", "trunk")
    cloned(fleet, monkeypatch, head=False)
    assert gitfed("diff", "-o", "name").out == "Deployment.apps/shop/web\n"


def test_where_nothing_tells_the_default_branch_a_base_is_asked_for(fleet: Path) -> None:
    git(fleet, "checkout", "-q", "--detach")
    git(fleet, "branch", "-m", "main", "trunk")
    result = gitfed("diff")
    assert (result.code, result.out) == (4, "")
    assert result.err == (
        "error: no commit to compare with: there is no remote, and no branch main or master\n"
        "hint: name one: BASE..HEAD\n"
    )
