"""Values planted in Secrets wherever people leave them, and then everything that gitfed prints or keeps is searched.

What a Secret holds is a secret wherever it was copied to, an environment or a ConfigMap; what no Secret holds is shown
as any field is.
"""

from __future__ import annotations

import base64
import json
import subprocess
import urllib.parse

import pytest

from gitfed.cli import exits
from tests.cli import world as cli
from tests.clusters.faulty import Faulty
from tests.e2e.world import World, cluster, config_map, deployment, policy, settings

pytestmark = pytest.mark.e2e

PLANTED = {
    "data": "planted-in-data-7Qx",
    "string": 'planted in stringData "quoted" \\ and\nof two long lines',
    "applied": "planted-in-last-applied-9Zt",
    "live": "planted-by-somebody-live-3Kp",
    "annotated": "planted-in-applied-string-5Wm",
    "changed": "planted-in-the-change-8Rv",
    "broken": "planted-in-a-broken-file-2Ly",
    "refused": "planted-in-a-refusal-6Hd",
}
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def encoded(value: str) -> str:
    return base64.b64encode(value.encode()).decode()


def secret(name: str, data: dict[str, str], strings: dict[str, str], **more: object) -> str:
    applied = json.dumps({"kind": "Secret", "data": {"p": encoded(PLANTED["applied"])},
                          "stringData": {"q": PLANTED["annotated"]}})  # fmt: skip
    return json.dumps(
        {"apiVersion": "v1", "kind": "Secret",
         "metadata": {"name": name, "namespace": "shop", "annotations": {LAST_APPLIED: applied}},
         "data": {key: encoded(value) for key, value in data.items()}, "stringData": strings, **more}
    )  # fmt: skip


KINDS = (("v1", "Secret"), ("v1", "ConfigMap"), ("apps/v1", "Deployment"))
BASE = {
    "gitfed.json": settings(),
    "clusters/m1.json": cluster("m1"),
    "clusters/m2.json": cluster("m2"),
    "policies/all.json": policy("all", ["m1", "m2"], KINDS),
    "apps/login.json": secret("login", {"p": PLANTED["data"]}, {"q": PLANTED["string"]}),
    "apps/web.json": deployment("web"),
    "apps/open.json": config_map("open", {"note": "not-a-secret-at-all"}),
}


def forms(value: str) -> set[str]:
    """As it is, in base64 however the bytes before it fall, quoted by JSON, in an address, and its longer lines."""
    whole = {value, encoded(value), json.dumps(value)[1:-1], urllib.parse.quote(value), urllib.parse.quote_plus(value)}
    lines = {line for line in value.splitlines() if len(line) > 8}
    return whole | lines | {encoded(line) for line in lines} | {encoded(encoded(value))}


def leaks(text: str) -> list[str]:
    return [name for name, value in PLANTED.items() if any(form in text for form in forms(value))]


def branches(world: World) -> str:
    """All that gitfed wrote into the repository and its clone, whatever branch or ref it is on."""
    text = ""
    for path in (world.bare, world.data / "clone.git"):
        command = ["git", "-C", str(path), "for-each-ref", "--format=%(refname)", "refs/heads/gitfed"]
        refs = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        assert "refs/heads/gitfed/state" in refs
        for ref in refs:
            command = ["git", "-C", str(path), "log", "-p", ref]
            text += subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return text


def test_the_search_finds_what_it_is_meant_to_find() -> None:
    assert leaks(f"x {encoded(PLANTED['data'])} y") == ["data"]
    assert leaks(json.dumps({"a": PLANTED["string"]})) == ["string"]
    assert leaks("nothing of that kind") == []


def test_no_output_holds_what_a_secret_holds(world: World, faulty: Faulty) -> None:
    world.push(BASE)
    world.apply()
    path = world.path("Secret", "shop", "login")
    body = world.ask("m1", "GET", path)
    assert body["data"]["p"] == encoded(PLANTED["data"]), "the clusters get the real values"
    left = json.dumps({"data": {"r": encoded(PLANTED["live"])}})
    drift = {"data": {"p": encoded(PLANTED["live"])}, "metadata": {"annotations": {LAST_APPLIED: left}}}
    world.ask("m1", "PATCH", path + "?fieldManager=kubectl-edit", drift, "application/merge-patch+json")
    world.push({"apps/login.json": secret("login", {"p": PLANTED["changed"]}, {"q": PLANTED["string"]})})
    where = ("--repo", str(world.bare))
    live = (*where, "--live", "--kubeconfig", str(world.kubeconfig))
    home = {name: value for name, value in world.environment.items() if name == "HOME" or name.startswith("XDG_")}
    said = ""
    for arguments in (
        ("plan", *live),
        ("plan", *live, "-o", "json"),
        ("plan", *live, "-o", "markdown"),
        ("diff", *where, "HEAD~1..HEAD"),
        ("diff", *where, "HEAD~1..HEAD", "-o", "json"),
        ("diff", *where, "HEAD~1..HEAD", "-o", "markdown"),
        ("diff", *live),
        ("render", *where),
        ("explain", "Secret/shop/login", *live),
        ("explain", "Secret/shop/login", *live, "-o", "json"),
        ("get", "bindings", *where, "-o", "yaml"),
        ("get", "works", *live, "-o", "yaml"),
        ("get", "templates", *where, "-o", "json"),
        ("validate", *where, "-o", "json"),
    ):
        done = cli.gitfed(*arguments, env=home)
        assert done.code != exits.DEFECT, (arguments, done.err)
        assert leaks(done.out + done.err) == [], arguments
        said += done.out
    assert "login" in said
    assert "***" in said
    assert "not-a-secret-at-all" in said, "what is no secret is shown"
    maps = json.dumps(faulty.inside("m1", lambda m: m.api.list("configmaps", "gitfed-system")))
    assert "login" in maps
    assert leaks(maps) == []
    assert leaks(branches(world)) == []


def copies(value: str) -> dict[str, str]:
    """The same value wherever people copy it."""
    web = json.loads(deployment("web", annotations={"example.com/note": f"token={value}"}))
    main = web["spec"]["template"]["spec"]["containers"][0]
    main |= {"env": [{"name": "PASSWORD", "value": value}], "args": ["--password", value, f"--url=db://u:{value}@db/"]}
    return {
        "apps/web.json": json.dumps(web),
        "apps/open.json": config_map("open", {"app.properties": f"user=u\npassword={value}\n", "note": "not-a-secret"}),
    }


def test_what_was_copied_out_of_a_secret_is_masked_where_it_was_copied_to(world: World, faulty: Faulty) -> None:
    world.push({**BASE, **copies("harmless-at-first")})
    world.apply()
    body = world.get("m1", "Deployment", "shop", "web")
    assert body is not None
    world.push(copies(PLANTED["data"]))
    where = ("--repo", str(world.bare))
    live = (*where, "--live", "--kubeconfig", str(world.kubeconfig))
    home = {name: value for name, value in world.environment.items() if name == "HOME" or name.startswith("XDG_")}
    for arguments in (
        ("plan", *live),
        ("plan", *live, "-o", "json"),
        ("plan", *live, "-o", "md"),
        ("diff", *where, "HEAD~1..HEAD"),
        ("diff", *where, "HEAD~1..HEAD", "-o", "json"),
        ("diff", *where, "HEAD~1..HEAD", "-o", "md"),
        ("diff", *live),
        ("explain", "deploy/shop/web", *live, "-o", "json"),
        ("validate", *where),
    ):
        done = cli.gitfed(*arguments, env=home)
        assert done.code != exits.DEFECT, (arguments, done.err)
        assert leaks(done.out + done.err) == [], arguments
    shown = cli.gitfed("diff", *live, env=home).out
    assert "password=***" in shown
    assert "harmless-at-first" in shown, "what no Secret holds is shown"
    faulty.tell("m1", lambda f: f.reject(f"env PASSWORD={PLANTED['data']} is refused", name="web"))
    daemon = world.daemon("--log-level", "debug")
    said = world.until(lambda: daemon.said("change failed"), "the refusal")
    assert "env PASSWORD=*** is refused" in said[0]["error"]
    daemon.stop()
    assert leaks(daemon.log_path.read_text()) == []
    checked = world.gitfed("apply", *where, "--kubeconfig", str(world.kubeconfig), "--dry-run=server", check=False)
    assert "env PASSWORD=*** is refused" in checked.stdout
    assert leaks(branches(world)) == []


def test_a_copy_of_a_secret_in_the_open_is_told_with_its_place(world: World) -> None:
    world.push({**BASE, **copies(PLANTED["data"])})
    done = world.gitfed("validate", "--repo", str(world.bare))
    told = sorted(line.partition(": ")[2] for line in done.stdout.splitlines() if "in the open" in line)
    pod = "spec.template.spec.containers.0"
    assert told == [
        f"warning: {place} holds a value of Secret/shop/login in the open (refer to the Secret instead of copying it)"
        for place in ("data.app.properties", "metadata.annotations.example.com/note", f"{pod}.args.1", f"{pod}.args.2",
                      f"{pod}.env.0.value")
    ]  # fmt: skip


def test_no_refusal_quotes_what_a_secret_holds(world: World, faulty: Faulty) -> None:
    """Servers and admission webhooks quote what they refuse, in plain text, in base64 and as JSON."""
    quoted = f"{PLANTED['refused']} {encoded(PLANTED['refused'])} {json.dumps({'v': PLANTED['string']})}"
    faulty.tell("m1", lambda f: f.reject(f"bad value: {quoted}", resource="secrets", name="login"))
    world.push(
        {
            **BASE,
            "apps/login.json": secret("login", {"p": PLANTED["refused"]}, {"q": PLANTED["string"]}),
            "apps/not-base64.json": json.dumps(
                {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "odd", "namespace": "shop"},
                 "data": {"p": PLANTED["data"] + "!"}}),
            "apps/tls.json": secret(
                "tls", {"tls.crt": PLANTED["data"]}, {"q": PLANTED["string"]}, type="kubernetes.io/tls"
            ),
            "apps/broken.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: b, namespace: shop}\n"
                                f"stringData: {{p: '{PLANTED['broken']}, q: *{PLANTED['broken']}\n",
            "apps/typed.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: t, namespace: shop}\n"
                               f"stringData: {{p: !!int {PLANTED['broken']}}}\n",
            "apps/alias.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: u, namespace: shop}\n"
                               f"stringData:\n  p: *{PLANTED['broken']}\n",
            "apps/tag.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: v, namespace: shop}\n"
                             f"stringData:\n  p: !{PLANTED['broken']} x\n",
        }
    )  # fmt: skip
    daemon = world.daemon("--log-level", "debug")
    failed = world.until(
        lambda: {line["object"] for line in daemon.said("change failed")} >= {"Secret/shop/login", "Secret/shop/tls"},
        "the refusals are logged",
    )
    assert failed
    world.until(lambda: world.get("m2", "Secret", "shop", "login"), "m2 takes it")
    done = world.gitfed("validate", "--repo", str(world.bare), check=False)
    assert done.returncode == 3
    assert leaks(done.stdout + done.stderr) == []
    daemon.stop()
    assert leaks(daemon.log_path.read_text()) == []
    applied = world.apply("--timeout", "10s", check=False)
    assert "login" in applied.stdout + applied.stderr
    assert leaks(applied.stdout + applied.stderr) == []
    assert leaks(branches(world)) == []
