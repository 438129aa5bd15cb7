"""The command line as a whole: quick to start, told by its help, honest about mistakes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from gitfed.cli import main
from tests.cli.world import commit, git, gitfed, installed


def every_command(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from every_command(found, f"{name} {inner}")


ABSENT = str(Path(__file__, "nothing"))
"""Below a file there is nothing, on whatever machine."""

COMMANDS = dict(every_command(main.cli, "gitfed"))
LEAVES = {name: command for name, command in COMMANDS.items() if not isinstance(command, click.Group)}


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (
            ["--help"],
            [
                "pydantic",
                "kubernetes",
                "gitfed.edges.git",
                "yaml",
                "aiohttp",
                "asyncio",
                "watchdog",
                "orjson",
                "gitfed.planning",
            ],
        ),
        (["version"], ["pydantic", "kubernetes", "gitfed.edges.git", "yaml", "aiohttp", "gitfed.planning"]),
        (["completion", "bash"], ["pydantic", "kubernetes", "gitfed.edges.git", "yaml"]),
        (["validate", "--help"], ["kubernetes", "aiohttp", "watchdog", "kubesim", "gitfed.edges.kube"]),
        (["plan", "--help"], ["kubernetes", "aiohttp", "watchdog", "kubesim", "gitfed.edges.kube"]),
        (["diff", "--help"], ["kubernetes", "aiohttp", "watchdog", "kubesim", "gitfed.edges.kube"]),
        (["review", "--help"], ["kubernetes", "aiohttp", "watchdog", "kubesim", "gitfed.edges.kube"]),
        (["test", "--help"], ["kubernetes", "aiohttp", "watchdog", "kubesim", "gitfed.edges.kube"]),
        (["replay", "--help"], ["kubernetes", "aiohttp", "watchdog", "kubesim", "gitfed.edges.kube"]),
        (["rollback", "--help"], ["kubernetes", "aiohttp", "watchdog", "kubesim", "gitfed.edges.kube"]),
    ],
    ids=lambda value: " ".join(value) if value and value[0] != "pydantic" else "",
)
def test_a_command_imports_only_what_it_needs(arguments: list[str], unwanted: list[str]) -> None:
    script = (
        "import sys; from gitfed.cli import main; code = main.run(sys.argv[1].split()); "
        f"print([name for name in {unwanted!r} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, " ".join(arguments)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.strip()) == (0, "[]")


@pytest.mark.parametrize("command", [["demo", "--once"], ["sim", "up", "--kubeconfig", "k"]], ids=" ".join)
def test_without_kubesim_a_command_that_needs_it_says_what_to_install(tmp_path: Path, command: list[str]) -> None:
    script = "import sys; sys.modules['kubesim'] = None; from gitfed.cli import main; sys.exit(main.run(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", script, *command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: clusters inside this process are simulated by kubesim, which is not installed\n"
        "hint: pip install 'gitfed[demo]'; in a checkout of gitfed: pip install ./kubesim\n"
    )


@pytest.mark.parametrize("command", ["validate", "plan", "explain", "get"])
def test_what_only_looks_at_a_repository_needs_no_client_and_no_event_loop(fleet: Path, command: str) -> None:
    arguments = {"explain": ["explain", "deploy/shop/web"], "get": ["get", "bindings"]}.get(command, [command])
    script = (
        f"import sys; from gitfed.cli import main; code = main.run([*{arguments!r}, '-q']); "
        "unwanted = ('kubernetes', 'aiohttp', 'asyncio', 'ssl', 'git', 'jsonpath_ng', 'gitfed.edges.kube'); "
        "print([n for n in unwanted if n in sys.modules]); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=fleet, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_kind_that_no_file_declares_is_not_made_ready_to_be_read(fleet: Path) -> None:
    """The first value of a model makes pydantic compile it, which takes longer than to import its module."""
    script = (
        "from gitfed.cli import main; code = main.run(['validate', '-q']); "
        "from gitfed.model.declared import federated_hpa as module, shape; "
        "parts = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__"
        " and issubclass(one, shape.Part)]; assert parts; "
        "print([one.__name__ for one in parts if one.__pydantic_complete__]); raise SystemExit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=fleet, capture_output=True, text=True, check=False)
    assert (done.stdout.splitlines()[-1:], done.stderr) == (["[]"], "")


def test_no_command_reads_what_distributions_are_installed(fleet: Path) -> None:
    """pydantic looks through all of them for plugins, in each process that defines a model."""
    script = (
        "import sys; seen = []; "
        "sys.addaudithook(lambda event, given: seen.append(str(given[0])) if event == 'open' else None); "
        "from gitfed.cli import main; code = main.run(['validate', '-q']); "
        "print([path for path in seen if path.endswith('entry_points.txt')]); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=fleet, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_tells_its_exit_codes_and_what_it_does(name: str) -> None:
    text = LEAVES[name].help or ""
    assert "Exit codes:" in text
    assert text.strip().splitlines()[0].endswith((".", ":", ",")) or len(text.splitlines()) > 3


@pytest.mark.parametrize("name", LEAVES)
def test_every_option_has_an_environment_variable_and_a_help_text(name: str) -> None:
    for parameter in LEAVES[name].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
            assert parameter.show_envvar, parameter.name


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_printed(name: str) -> None:
    result = gitfed(*name.split()[1:], "--help")
    assert result.code == 0
    assert result.out.startswith(f"Usage: {name}")


def test_the_list_of_commands_has_them_all() -> None:
    listed = gitfed("--help").out
    for name in main.cli.list_commands(click.Context(main.cli)):
        assert f"  {name} " in listed


def test_without_a_command_the_help_is_shown() -> None:
    for arguments in ([], ["sim"], ["config"]):
        result = gitfed(*arguments)
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith(f"Usage: {' '.join(['gitfed', *arguments])} [OPTIONS] COMMAND [ARGS]...\n\n  ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["valdate"], "error: no such command 'valdate' (did you mean validate?)"),
        (["xyzzy"], "error: no such command 'xyzzy'"),
        (["plan", "--nope"], "error: No such option"),
        (
            ["plan", "--now", "yesterday"],
            "error: Invalid value for '--now' (env var: 'GITFED_NOW'): 'yesterday' is not an RFC 3339 time",
        ),
        (["plan", "--now", "2026-08-22"], "'2026-08-22' is not an RFC 3339 time: date, time and offset"),
        (
            ["plan", "--rev", "x", "--worktree"],
            "error: --worktree reads the files on disk: it cannot be used with --rev",
        ),
        (["plan", "--fleet", ABSENT], "does not exist"),
        (["render", "--show-secrets"], "error: --show-secrets is refused: stdout is not a terminal"),
        (["render", "--with-secrets"], "error: --with-secrets needs -d DIR"),
        (["get", "cluster-things"], "nothing called 'cluster-things' to list"),
        (
            ["completion"],
            "error: Missing argument '{bash|zsh|fish|powershell}'. Choose from: bash, zsh, fish, powershell\nUsage:",
        ),
        (["apply", "--dry-run"], "error: Option '--dry-run' requires an argument."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage_leaves_with_2_and_says_what(arguments: list[str], said: str) -> None:
    result = gitfed(*arguments)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["plan", "--repo", "/"],
            "error: no Git repository at / or above it\nhint: name one with --repo, or make one: gitfed init\n",
        ),
        (
            ["plan", "--repo", ABSENT],
            f"error: no such folder: {ABSENT}\nhint: --repo takes a path or a URL\n",
        ),
    ],
    ids=["not a repository", "no such folder"],
)
def test_a_source_that_cannot_be_read_leaves_with_4(arguments: list[str], said: str) -> None:
    result = gitfed(*arguments)
    assert (result.code, result.err) == (4, said)


def test_an_unknown_revision_leaves_with_4(fleet: Path) -> None:
    result = gitfed("plan", "--rev", "nosuch")
    hint = "hint: a branch, a tag, or a commit by at least four of its digits\n"
    assert (result.code, result.err) == (4, f"error: no commit called 'nosuch' in {fleet}\n{hint}")


@pytest.mark.parametrize(
    ("revision", "hint"),
    [
        ("mian", "did you mean main?"),
        ("mian~2", "did you mean main~2?"),
        ("v1.1", "did you mean v1.0?"),
        ("HEAD~9", "HEAD is there, and has no such ancestor"),
        ("v1.0~9", "v1.0 is there, and has no such ancestor"),
    ],
)
def test_a_revision_that_is_nearly_one_is_guessed(fleet: Path, revision: str, hint: str) -> None:
    git(fleet, "tag", "v1.0")
    assert gitfed("validate", "--rev", revision).err.splitlines()[1] == f"hint: {hint}"


def test_a_revision_that_may_be_elsewhere_is_said_to_be_fetched(fleet: Path, tmp_path: Path) -> None:
    commit(fleet, {"README.md": "words\n"})
    git(tmp_path, "clone", "-q", str(fleet), "clone")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{fleet}", "shallow")
    for clone, hint in (
        ("clone", "git fetch --tags origin brings what is only there"),
        ("shallow", "this clone is shallow: git fetch --unshallow brings older commits"),
    ):
        result = gitfed("validate", "--repo", str(tmp_path / clone), "--rev", "0123abcd")
        assert result.err.splitlines()[1] == f"hint: {hint}"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["validate", "HEAD"], "hint: if it is a commit: gitfed validate --rev HEAD"),
        (["plan", "main~1"], "hint: if it is a commit: gitfed plan --rev main~1"),
        (["plan", "main", "topic"], "hint: a commit is named with --rev"),
        (["explain", "main", "deploy/shop/web"], "hint: a commit is named with --rev"),
        (["version", "HEAD"], "Usage: gitfed version [OPTIONS]"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_revision_without_its_option_is_told_where_it_goes(fleet: Path, arguments: list[str], hint: str) -> None:
    result = gitfed(*arguments)
    assert result.code == 2
    assert result.err.splitlines()[1] == hint


def test_an_address_that_is_not_contacted_leaves_with_4_as_a_name_of_one_does(fleet: Path) -> None:
    result = gitfed("plan", "--repo", "https://169.254.169.254/fleet.git")
    assert (result.code, result.out) == (4, "")
    assert result.err == (
        "error: https://169.254.169.254/fleet.git cannot be used as a repository\n"
        "hint: its address is a link-local or metadata address, which is not contacted\n"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "out"),
    [
        (["log"], 0, ""),
        (["log", "-o", "json"], 0, '{\n  "schema": "gitfed.io/log/v1",\n  "entries": []\n}\n'),
        (["get", "events", "-o", "name"], 0, ""),
        (["blame", "deploy/shop/web"], 4, ""),
        (["replay"], 4, ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_before_the_first_decision_a_list_is_empty_and_what_asks_for_one_finds_none(
    fleet: Path, arguments: list[str], code: int, out: str
) -> None:
    result = gitfed(*arguments)
    assert (result.code, result.out) == (code, out)
    assert "nothing was decided yet: there is no branch gitfed/state" in result.err
    assert "gitfed apply or gitfed run decides, and writes it" in result.err


def test_where_decisions_may_be_elsewhere_an_empty_list_is_no_answer(fleet: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(fleet), "clone")
    result = gitfed("log", "--repo", str(tmp_path / "clone"))
    assert (result.code, result.out) == (4, "")
    assert result.err == (
        "error: nothing was decided yet: there is no branch gitfed/state, or it was not fetched\n"
        "hint: git fetch origin +gitfed/state:refs/remotes/origin/gitfed/state\n"
    )


def test_a_revision_is_never_read_as_an_option(fleet: Path) -> None:
    assert gitfed("plan", "--rev", "--upload-pack=x").code == 4


def test_the_variable_of_an_option_is_called_as_the_help_says(fleet: Path) -> None:
    told = gitfed("validate", env={"GITFED_VALIDATE_FORMAT": "github"})
    assert told.out == gitfed("validate", "--format", "github").out
    for name, command in LEAVES.items():
        prefix = name.upper().replace(" ", "_")
        context = click.Context(command, auto_envvar_prefix=prefix)
        for one in command.params:
            if isinstance(one, click.Option) and one.show_envvar:
                long = next(spelling for spelling in one.opts if spelling.startswith("--"))
                shared, own = f"GITFED_{long[2:]}", f"{prefix}_{long[2:]}"
                allowed = {shared.replace("-", "_").upper(), own.replace("-", "_").upper()}
                assert set(one.get_help_extra(context)["envvars"]) <= allowed, f"{name} {long}"


def test_a_shared_option_comes_from_the_environment_too(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert gitfed("get", "clusters", "-o", "name", env={"GITFED_REPO": str(fleet)}).out == "eu-1\neu-2\nus-1\n"


def test_the_console_script_works_from_a_folder_below(fleet: Path) -> None:
    result = installed("get", "clusters", "-o", "name", cwd=fleet / "apps")
    assert result == type(result)(0, "eu-1\neu-2\nus-1\n", "")


def test_a_closed_pipe_is_no_error(fleet: Path) -> None:
    script = f"{Path(sys.executable).with_name('gitfed')} render | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=fleet, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0"
    assert "Traceback" not in done.stderr
    assert "Broken pipe" not in done.stderr


def test_who_stops_reading_changes_no_exit_code(fleet: Path) -> None:
    """All of 2000 problems do not fit into a pipe, so `head` is gone while they are being printed."""
    commit(fleet, {"vendor/values.yaml": "---\nno: object\n" * 2000})
    script = f"{Path(sys.executable).with_name('gitfed')} validate | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=fleet, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "3"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_named(fleet: Path, unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gitfed", "plan"], env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            cwd=fleet, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        2, "error: what is to be printed cannot be written: No space left on device\n"
    )  # fmt: skip


@pytest.mark.parametrize("arguments", [["validate"], ["init", "another"]], ids=lambda value: value[0])
def test_without_the_git_program_it_is_said_what_to_install(fleet: Path, tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "empty").mkdir()
    root = str(Path(main.__file__).parents[2])
    result = subprocess.run(
        [sys.executable, "-m", "gitfed", *arguments], cwd=fleet, capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": str(tmp_path / "empty"), "PYTHONPATH": root},
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (4, "")
    assert result.stderr == "error: the git program was not found\nhint: install Git 2.39 or newer\n"


def test_a_defect_never_leaves_with_1(tmp_path: Path) -> None:
    script = (
        "import sys; from gitfed.cli import main\n"
        "def fail(**_): raise ZeroDivisionError('x')\n"
        "main.cli.main = fail\n"
        "main.main([])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert done.stderr == (
        "error: a defect of gitfed: ZeroDivisionError: x\n"
        "hint: run it again with GITFED_DEBUG=1 and report what it prints\n"
    )


def test_git_variables_of_a_hook_do_not_lead_elsewhere(fleet: Path, tmp_path: Path) -> None:
    result = installed("get", "clusters", "-o", "name", cwd=fleet, env={"GIT_DIR": str(tmp_path / "other")})
    assert (result.code, result.out) == (0, "eu-1\neu-2\nus-1\n")


def test_what_remedies_ask_for_stands_beside_each_cluster(fleet: Path, tmp_path: Path) -> None:
    commit(fleet, {"remedy.yaml": REMEDY})
    facts = tmp_path / "facts.yaml"
    conditions = "[{type: ServiceDomainNameResolutionReady, status: 'False'}, {type: Ready, status: 'True'}]"
    facts.write_text(
        "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {name: eu-1}\n"
        f"status: {{conditions: {conditions}}}\n"
    )
    found = json.loads(gitfed("get", "clusters", "--fleet", facts, "-o", "json").out)["items"]
    assert {one["name"]: one["remedyActions"] for one in found} == {"eu-1": ["TrafficControl"], "eu-2": [], "us-1": []}
    header, first, *_ = gitfed("get", "clusters", "--fleet", facts, "-o", "wide").out.splitlines()
    assert "REMEDY-ACTIONS" in header
    assert "TrafficControl" in first
    warned = gitfed("validate").out
    assert "spec.clusterAffinity.clusterNames[1] names the cluster eu-9, which is not declared" in warned


REMEDY = """\
apiVersion: remedy.karmada.io/v1alpha1
kind: Remedy
metadata: {name: dns}
spec:
  clusterAffinity: {clusterNames: [eu-1, eu-9]}
  decisionMatches:
  - clusterConditionMatch: {conditionType: ServiceDomainNameResolutionReady, operator: Equal, conditionStatus: "False"}
  actions: [TrafficControl]
"""
