"""Scripts of one commit that would stop the process which runs them: it is the worker's, and it may be lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gitfed.edges.lua import Lua
from gitfed.edges.lua.worker import Allowance
from gitfed.interpret import kube_module
from gitfed.model.script import Call, Failed, Returned, Script
from tests.safety.bounded import gitfed
from tests.safety.hostile_scripts import GOOD, LOOP, planned, repository, rules, widget
from tests.safety.objects import CLUSTERS, SETTINGS, Objects

FULL = GOOD.strip() + " " + ("do local function f() " + "f{1}" * 30_000 + " end end ") * 4


def test_scripts_that_fill_the_memory_of_lua_end_no_command(tmp_path: Path) -> None:
    files = {"gitfed.yaml": (SETTINGS + CLUSTERS).encode()}
    for n in range(8):
        files[f"r{n}.yaml"] = rules(f"Kind{n}", f"{FULL}-- {n}").encode()
        files[f"o{n}.yaml"] = widget(f"Kind{n}").encode()
    Objects.create(tmp_path / "r").load(files)
    for command in ("validate", "plan"):
        ended = gitfed(command, "--repo", tmp_path / "r", cwd=tmp_path)
        assert "PANIC" not in ended.said
        assert ended.code == 0, ended.said
        assert "does not compile" not in ended.said


def test_no_script_runs_in_the_process_that_plans() -> None:
    """What Lua does to its process, it does to another one: here is no Lua."""
    code = (
        "import sys\n"
        "from tests.safety.test_scripts import GOOD, planned, repository\n"
        "assert planned(repository(GOOD)).bindings\n"
        "assert 'lupa' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


KILLER = """
    local n, t = 30000, {}
    for i = 1, n do t[i] = i end
    local function swap(i, j) t[i], t[j] = t[j], t[i] end
    for high = 3, n do swap(high - 1, math.floor((1 + high) / 2)) end
    table.sort(t) return #t"""
NEEDLE = """
    local s, p = 'a', 'a'
    for i = 1, 19 do s = s .. s end for i = 1, 18 do p = p .. p end
    return s:find(p .. 'b', 1, true) or 0"""


def test_scripts_that_hang_together_take_no_more_than_one_may() -> None:
    hanging = "local s = '' for i = 1, 11 do s = s .. 'aaaaaaaaaa' end return #(s:match('.-.-.-.-.-.-.-.-.-b') or '')"
    calls = [
        Call(Script(f"s{n}", LOOP.format(hanging)), "GetReplicas", ({"n": k},)) for n in range(8) for k in range(5)
    ]
    with Lua(kube_module.NAME, seconds=0.5, allowance=1.0) as lua:
        answers = lua.run_all(calls)
    assert all(isinstance(one, Failed) and not one.permanent for one in answers)
    said = [one.message.partition(": ")[2] for one in answers if isinstance(one, Failed)]
    assert said.count("was stopped after 0.5 seconds without an end") <= 3
    assert said[-1] == "was not asked: the scripts of this commit have taken 1 seconds, and go on later"


def test_scripts_that_are_slow_each_time_are_not_asked_for_ever() -> None:
    slow = "local n = 0 for i = 1, 2e6 do n = n + i end return obj.n"
    calls = [Call(Script("s", LOOP.format(slow)), "GetReplicas", ({"n": n},)) for n in range(200)]
    with Lua(kube_module.NAME, allowance=0.05) as lua:
        answers = lua.run_all(calls)
    assert isinstance(answers[0], Returned)
    assert answers[-1] == Failed(
        "s: was not asked: the scripts of this commit have taken 0.05 seconds, and go on later", permanent=False
    )


def test_what_scripts_may_take_comes_back_with_time() -> None:
    now = 0.0
    allowance = Allowance(10.0, lambda: now)
    allowance.spend(12.0)
    assert not allowance
    now = 60.0
    assert allowance
    for _ in range(5000):
        allowance.spend(0.0001)
    allowance.spend(10.1)
    assert not allowance, "what costs nothing saves nothing up"


def test_work_that_no_limit_sees_is_ended_with_the_worker() -> None:
    with Lua(kube_module.NAME, seconds=0.3) as lua:
        for text in (KILLER, NEEDLE):
            answer = lua.run(Call(Script("s", LOOP.format(text)), "GetReplicas", ({},)))
            assert isinstance(answer, Returned) or not answer.permanent


def test_a_script_with_names_beyond_ascii_changes_nothing_for_another() -> None:
    hidden = "function GetReplicas(o)\n  local s\u20ac = o.spec s\u20ac.size = 99\n  return 1\nend"
    repo = repository(hidden)
    assert "unexpected symbol near '\u20ac'" in str(planned(repo).problems[0])
    with Lua(kube_module.NAME) as lua:
        body = {"spec": {"size": 3}}
        plain = hidden.replace("\u20ac", "")
        changes, reads = (Call(Script(f"{n}", text), "GetReplicas", (body,)) for n, text in enumerate((plain, GOOD)))
        for calls in ([changes, reads], [reads, changes, reads]):
            assert lua.run_all(calls)[-1] == Returned(("number",), (3,))
