"""Small scripts of users: what goes in, what comes out, what they may use."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from gitfed.edges.lua import Lua
from gitfed.interpret import kube_module
from gitfed.interpret.registry import Interpreter, Operation
from gitfed.interpret.scripted import Scripted
from gitfed.model.script import Script
from tests.conformance import native

NOW = datetime.fromisoformat(native.NOW).timestamp()


@functools.cache
def runtime() -> Lua:
    """One for all cases: nothing that a script does may be noticed by the next."""
    return Lua(kube_module.NAME, clock=lambda: NOW)


def matches(case: Mapping[str, Any]) -> bool:
    return "script" in case or "scripts" in case


def run(case: Mapping[str, Any]) -> list[str]:
    operation = Operation(case["operation"])
    body = case["inputs"].get("object") or case["inputs"]["desired"]
    texts = case["scripts"] if "scripts" in case else [case["script"]]
    scripts = [Script(f"script-{i}", text) for i, text in enumerate(texts)]
    rules = {(body["apiVersion"], body["kind"], operation): scripts}
    expect = case.get("expect", {"error": True, "message": case.get("error")})
    expect = json.loads(json.dumps(expect).replace("{{NOW}}", native.NOW))
    interpreter = Interpreter([Scripted("script", rules, runtime().run_all)])
    return native.check({**case["inputs"], "operation": case["operation"], "expect": expect}, interpreter)
