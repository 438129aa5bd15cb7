"""Scripts of one kind, as the worker takes them in."""

from __future__ import annotations

from hypothesis import strategies as st

_PLACES = st.sampled_from(["o", "o.a", "o.b", "o.spec", "o.a.b", "o.a.a", "o.b.c", "o.spec.containers", "o.a[1]", "p"])


_STATEMENTS = st.sampled_from(
    [
        "{x}.a = 5", "{x}.b = nil", "{x} = {y}", "{x} = nil", "{x}.c = {{}}", "{x}.a = {{{y}, 1}}", "{x}[1] = {y}",
        "{x}.c = {x}", "{x}[nil] = 1", "{x}[0/0] = 1", "{x}[true] = 1", "local t = {x} {x} = nil {y} = t",
        "local n = next({x}) seen = n", "seen = next({x}, 'a')", "seen = next({x}, 'zz')", "seen = #{x}",
        "for k, v in pairs({x}) do seen = k {x}[k] = nil end", "for k, v in pairs({x}) do {y}[k] = v end",
        "for k in pairs({x}) do seen = (seen or '') .. k end", "for i, v in ipairs({x}) do seen = v end",
        "table.insert({x}, {y})", "table.insert({x}, 1, 2)", "seen = table.remove({x})", "table.sort({x})",
        "seen = table.concat({x})", "seen = table.maxn({x})", "seen = table.getn({x})", "seen = unpack({x})",
        "seen = {x} == {x}", "seen = {x} == {y}", "seen = tostring({x})", "seen = type({x}.b)", "seen = {x} .. ''",
        "seen = {x} + 1", "seen = {x}()", "error({x})", "seen = string.format('%s', {x})", "_G[1] = {x} seen = _G[1].a",
        "package.loaded = {x} seen = require('a')", "package.preload = {x} seen = require('a')",
        "seen = require('kube').accuratePodRequirements({x})", "seen = require('kube').getPodDependencies({x}, 'n')",
        "seen = require('kube').accuratePodRequirements({{spec = {x}}})", "seen = require('kube').resourceAdd({x})",
        "seen = pcall(require('kube').getPodDependencies, {{spec = {x}}}, {y})", "seen = {{ {x}, {y} }}",
        "seen = select('#', unpack({x}))", "seen = pcall(next, {x}, {y})", "seen = os.time({x})",
    ]
)  # fmt: skip


_RESULTS = st.sampled_from(["o", "o", "o", "o.a", "p", "{o.a, o.b}", "{a = o, b = seen}", "seen", "o.spec, seen", ""])


@st.composite
def scripts(draw: st.DrawFn) -> str:
    lines = []
    for _ in range(draw(st.integers(0, 5))):
        line = draw(_STATEMENTS).format(x=draw(_PLACES), y=draw(_PLACES))
        lines.append(f"  pcall(function() {line} end)" if draw(st.booleans()) else f"  {line}")
    return "\n".join(["function F(o, p)", "  local seen", *lines, f"  return {draw(_RESULTS)}", "end"])
