"""What a script can reach and what it can cost: every known way out of a Lua sandbox, and every way to hang one."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitfed.edges.lua.request import Request, ScriptError
from gitfed.edges.lua.runtime import INSTRUCTIONS, MEMORY, Runtime
from gitfed.interpret import kube_module
from gitfed.model.script import Script


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    """One for all tests of this file: whatever a script did, the next must find everything as it was."""
    return Runtime(kube_module.FUNCTIONS)


@pytest.fixture(autouse=True)
def nothing_was_changed(runtime: Runtime) -> Iterator[None]:
    yield
    text = """
    function F(o)
      local names = {}
      for name in pairs(_G) do names[#names + 1] = name end
      local kinds = type(require("kube").resourceAdd)
      return table.concat(names, " ") .. ("x"):upper() .. #{1, 2} .. o.n .. math.floor(2.5) .. kinds
    end"""
    (value,) = runtime.call(Request(Script("after", text), "F", ({"n": 1},))).values
    assert value == (
        "F _G _VERSION assert collectgarbage dofile error getfenv getmetatable ipairs load loadfile loadstring math "
        "module newproxy next os package pairs pcall print rawequal rawget rawset require select setfenv setmetatable "
        "string table tonumber tostring type unpack xpcallX212function"
    )


def outcome(runtime: Runtime, text: str) -> str:
    """What `return` gives as text, or the error."""
    try:
        (value,) = runtime.call(Request(Script("s", f"function F(o)\n{text}\nend"), "F", ({"a": {"b": 1}},))).values
    except ScriptError as error:
        return str(error)
    return repr(value)


# -- reaching out -------------------------------------------------------------------------------------------------

ABSENT = (
    "io", "debug", "coroutine", "python", "lupa", "jit", "ffi", "bit", "os.execute", "os.exit", "os.getenv",
    "os.remove", "os.rename", "os.tmpname", "os.setlocale", "os.clock", "package.loadlib", "package.cpath",
    "package.path", "package.searchers", "package.loaders", "package.loaded.debug", "package.loaded._G",
    "package.loaded.io", "string.buffer", "table.new", "_ENV", "arg", "_LOADED", "_PRELOAD", "newproxy_", "string.pack",
)  # fmt: skip


@pytest.mark.parametrize("name", ABSENT)
def test_what_reaches_the_outside_is_not_there(runtime: Runtime, name: str) -> None:
    assert outcome(runtime, f"return type({name})") == "'nil'"


@pytest.mark.parametrize(
    "call",
    [
        "collectgarbage()", "dofile('/etc/passwd')", "getfenv(0)", "getfenv(print)", "setfenv(1, {})",
        "getmetatable('')", "setmetatable({}, {})", "setmetatable(_G, {})", "load('return 1')", "load(function() end)",
        "loadfile('/etc/passwd')", "loadstring('return 1')", "rawequal(1, 1)", "rawget(_G, 'x')", "rawset(_G, 'x', 1)",
        "module('x')", "newproxy(true)",
    ],
)  # fmt: skip
def test_functions_that_could_reach_the_outside_refuse(runtime: Runtime, call: str) -> None:
    assert outcome(runtime, f"local x = {call} return 1") == (
        f"s:2: {call.partition('(')[0]} is not available to interpreter scripts"
    )
    assert outcome(runtime, f"return pcall(function() return {call} end)") == "False"


@pytest.mark.parametrize("call", ["('x'):rep(9)", "('x'):gsub('x', 'y')", "string.dump(print)", "('').dump(print)"])
def test_methods_of_texts_cannot_be_reached_past_the_environment(runtime: Runtime, call: str) -> None:
    assert "is not available to interpreter scripts" in outcome(runtime, f"local x = {call} return 1")


@pytest.mark.parametrize(
    "text",
    [
        "return type((''):x)",
        "string.upper = nil return ('a'):upper()",
        "string = nil return ('a'):upper()",
        "local s = string for k in pairs(s) do s[k] = nil end return ('a'):upper()",
    ],
)
def test_the_methods_of_texts_cannot_be_changed(runtime: Runtime, text: str) -> None:
    assert outcome(runtime, text) in (
        "'A'",
        "s:2: '<name>' expected near ')'",
        "s:2: function arguments expected near ')'",
    )


@pytest.mark.parametrize("name", ["io", "debug", "ffi", "jit", "coroutine", "os.path", "../../etc/passwd", "socket"])
def test_require_finds_nothing_of_the_machine(runtime: Runtime, name: str) -> None:
    assert outcome(runtime, f"local x = require('{name}') return 1") == (
        f"s:2: module {name} not found: there are only kube and the open libraries"
    )


def test_compiled_code_is_not_accepted(runtime: Runtime) -> None:
    for text in ("\x1bLJ\x02\x00", "\x1bLuaQ", "#!x\n\x1bLJ\x02", "\ufeff\x1bLJ\x02"):
        with pytest.raises(ScriptError):
            runtime.call(Request(Script("s", text), "F"))


@pytest.mark.parametrize("number", ["1LL", "0xffULL", "1i", "2.5i", ".5i", "1ll", "12uLL"])
def test_numbers_of_the_c_interface_are_no_lua(runtime: Runtime, number: str) -> None:
    assert outcome(runtime, f"return {number}") == f"s:2: malformed number near '{number}'"
    assert outcome(runtime, f"return #'{number}' --[[ {number} ]] -- {number}") == repr(len(number))


def test_no_python_object_is_seen_even_when_a_function_of_ours_fails(runtime: Runtime) -> None:
    bodies = [
        "5",
        "{}",
        "'x', 'y'",
        "{spec = {containers = 5}}",
        "{spec = {containers = {5}}}",
        "nil",
        "function() end",
    ]
    for name in kube_module.FUNCTIONS:
        for body in bodies:
            text = f"local ok, e = pcall(require('kube').{name}, {body}) return ok or type(e)"
            assert outcome(runtime, text) in ("True", "'string'")


def test_python_attributes_are_out_of_reach_of_whatever_is_passed(runtime: Runtime) -> None:
    assert outcome(
        runtime, "return type(o.__class__) .. type(o.a.__init__) .. type(print.__globals__ == nil)"
    ).startswith("s:2: attempt to index")


@pytest.mark.parametrize("raised", ["{}", "nil", "true", "function() end", "5", "{message = 'x'}"])
def test_errors_that_are_no_texts_are_told_as_such(runtime: Runtime, raised: str) -> None:
    kind = {"{": "table", "n": "nil", "t": "boolean", "f": "function", "5": "number"}[raised[0]]
    told = "s:2: 5" if kind == "number" else f"s:1: the script raised a {kind} as its error"
    assert outcome(runtime, f"error({raised})") == told


# -- leaving something behind -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "leaked = 1 return 1",
        "_G.leaked = 1 return 1",
        "string.leaked = 1 return 1",
        "math.leaked = 1 return 1",
        "require('kube').leaked = 1 return 1",
        "package.loaded.leaked = 1 return 1",
        "pairs = nil return 1",
        "_G._G = nil return 1",
        "o.a.b = 2 o.leaked = 1 return 1",
    ],
)
def test_nothing_is_left_behind_for_the_next_call(runtime: Runtime, text: str) -> None:
    body = {"a": {"b": 1}}
    assert runtime.call(Request(Script("s", f"function F(o) {text} end"), "F", (body,))).values == (1,)
    only = "function F(o) return {o.a.b, type(pairs), leaked == nil and o.leaked == nil and math.leaked == nil} end"
    assert runtime.call(Request(Script("t", only), "F", (body,))).values == ([1, "function", True],)
    assert body == {"a": {"b": 1}}


_NAME = st.sampled_from(["string", "math", "tostring", "require", "package", "_G", "mine", "getmetatable", "_VERSION"])
_ON_NAMES = st.sampled_from(
    [
        "{x} = nil", "{x} = 1", "{x} = {y}", "local t = {x} {x} = nil {y} = t", "_G['{x}'] = nil", "_G.{x} = {y}",
        "seen = {x} == nil", "seen = {x} == _G.{y}", "seen = type({x})", "{x}.upper = nil", "{x}.mine = 1",
        "seen = {x}.mine", "local n = 0 for k in pairs({x}) do n = n + 1 end seen = n", "seen = #{x}",
        "for k in pairs(_G) do if k ~= '{x}' then _G[k] = nil end end", "seen = next(_G, '{x}')", "_G[1] = {x}",
        "seen = require('{x}') == {y}", "seen = require('{x}').upper == nil",
        "package.preload.mine = function() return 1 end",
        "package.loaded.{x} = {y}", "seen = require('mine')", "_G[nil] = 1", "_G[0/0] = 1", "seen = _G[nil]",
        "_G[2] = 1", "table.insert(_G, 1)", "seen = table.remove(_G)", "seen = table.maxn(_G)", "seen = unpack(_G)",
        "seen = {{_G}}", "seen = _G", "seen = tostring(_G)", "seen = select('#', pcall(next, _G))",
        "seen = require('kube') == {x}", "{x} = nil seen = {x} == nil", "{x} = 1 {x} = nil seen = {x} == nil",
    ]
)  # fmt: skip


@st.composite
def _name_scripts(draw: st.DrawFn) -> tuple[str, str]:
    lines = [draw(_ON_NAMES).format(x=draw(_NAME), y=draw(_NAME)) for _ in range(draw(st.integers(1, 6)))]
    told = "type(seen), " + draw(st.sampled_from(["seen", "1", "_G", "type(string)"]))
    return "\n".join([f"pcall(function() {line} end)" if draw(st.booleans()) else line for line in lines]), told


@settings(max_examples=300, deadline=None)
@given(_name_scripts())
def test_no_script_can_tell_that_names_are_put_in_when_they_are_looked_up(
    runtime: Runtime, script: tuple[str, str]
) -> None:
    def answer(before: str) -> object:
        lines, told = script
        text = f"{before} function F() local seen {lines}\nreturn {told} end"
        try:
            found = runtime.call(Request(Script("s", text), "F", ({"n": 1},), results=2))
        except ScriptError as error:  # of several things that cannot be returned, either may be met first
            return re.sub(r"(s:\d+: ).*cannot be returned", r"\1cannot be returned", str(error))
        return found.kinds, found.values

    assert answer("") == answer("for _ in pairs(_G) do break end")


def test_top_level_locals_begin_anew_with_every_call(runtime: Runtime) -> None:
    script = Script("s", "local n = 0 function F() n = n + 1 return n end")
    assert [runtime.call(Request(script, "F")).values for _ in range(3)] == [(1,)] * 3


# -- costing too much ---------------------------------------------------------------------------------------------

ENDLESS = {
    "loop": "while true do end",
    "loop behind a pcall": "while true do pcall(function() while true do end end) end",
    "pcall of pcall": "while true do pcall(pcall, pcall, error) end",
    "handler of an error": "xpcall(function() error('x') end, function() while true do end end)",
    "handler of the end": "while true do xpcall(function() while true do end end, function() return 1 end) end",
    "goto": "::again:: goto again",
    "tail calls": "local function f() return f() end return f()",
    "comparator": "local t = {} for i = 1, 99 do t[i] = i end table.sort(t, function(a, b) while true do end end)",
    "iterator": "for x in function() return 1 end do end",
    "mutual recursion with pcall": "local function f() pcall(f) return f() end return f()",
    "pcall at the end of the stack": """
        local function h() return 1 end
        local function g(n) if n == 0 then while true do pcall(h) end else return 1 + g(n - 1) end end
        for n = 1, 70000 do pcall(g, n) end""",
    "stack overflow again and again": "local function d(n) return 1 + d(n) end while true do pcall(d, 1) end",
    "answer that unfolds": "local t = {} for i = 1, 60 do t = {t, t} end return t",
}


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS.keys())
def test_endless_work_is_an_error_of_the_script(text: str) -> None:
    """It is the instructions that end it, not the time."""
    message = outcome(Runtime(kube_module.FUNCTIONS), text)
    said = f"needs more than {INSTRUCTIONS:,} instructions (an endless loop?)"
    assert re.fullmatch(rf"s:[1-5]: {re.escape(said)}", message)


def test_an_endless_loop_at_the_top_level_is_ended_too(runtime: Runtime) -> None:
    with pytest.raises(ScriptError, match=r"^s:1: .*an endless loop"):
        runtime.call(Request(Script("s", "while true do end"), "F"))


MEMORY_EATERS = {
    "doubled text": "local s = 'x' while true do s = s .. s end",
    "doubled text behind a pcall": "local s = 'x' while true do pcall(function() s = s .. s end) end",
    "long list": "local t = {} for i = 1, 1e9 do t[i] = {i} end",
    "closures": "local t = {} while true do t[#t + 1] = function() return t end end",
}


@pytest.mark.parametrize("text", MEMORY_EATERS.values(), ids=MEMORY_EATERS.keys())
def test_too_much_memory_is_an_error_of_the_script(runtime: Runtime, text: str) -> None:
    assert re.fullmatch(rf"s:[12]: needs more than {MEMORY >> 20} MiB of memory", outcome(runtime, text))


def test_an_insertion_far_to_the_left_moves_nothing(runtime: Runtime) -> None:
    assert outcome(runtime, "local t = {1} table.insert(t, -1e9, 1) return t") == (
        "s:2: bad argument #2 to 'insert' (position out of bounds)"
    )


def test_recursion_without_end_is_an_error_of_the_script(runtime: Runtime) -> None:
    assert "stack overflow" in outcome(runtime, "local function f(x) return 1 + f(x) end return f(1)")


def test_a_pattern_matches_as_in_lua(runtime: Runtime) -> None:
    text = "local major, minor = ('v1.12.3-rc.1'):match('^v(%d+)%.(%d+)') return major .. '/' .. minor"
    assert outcome(runtime, text) == "'1/12'"
    text = "local a, b, c = ('web-frontend-blue-12'):match('^([%w-]+)-(%a+)-(%d+)$') return a .. '/' .. b .. '/' .. c"
    assert outcome(runtime, text) == "'web-frontend/blue/12'"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("for word in (' a b '):gmatch('^%s*(.-)%s*$') do return word end", "'a b'"),
        ("local n = 0 for a, b in ('x=1,y=2'):gmatch('^(%w)=(%w)') do n = n + 1 end return n", "1"),
        ("for a in ('x'):gmatch('^y') do return a end return 'none'", "'none'"),
        ("return table.concat({'a', 2, 'c'}, '-', 2, 9)", "'2-c'"),
        ("return table.concat({'a', 'b'}, '-', -1)", "'a-b'"),
        ("return table.concat({'a', 'b'}, '-', 3, 9)", "''"),
        ("return table.concat({'a', 'b'}, nil, nil, nil)", "'ab'"),
        ("return math.mod(-1, 8) + math.fmod(-1, 8)", "6"),
    ],
)
def test_functions_of_the_libraries_do_what_scripts_of_karmada_expect(runtime: Runtime, text: str, answer: str) -> None:
    assert outcome(runtime, text) == answer


WORK_WITHIN_THE_LIBRARIES = {
    "a pattern": "local s = 'a' for i = 1, 16 do s = s .. s end for i = 1, 1e6 do s:find('b') end",
    "a plain text": "local s = 'a' for i = 1, 16 do s = s .. s end for i = 1, 1e6 do s:find('b', 1, true) end",
    "a match": "local s = 'a' for i = 1, 16 do s = s .. s end for i = 1, 1e6 do s:match('b') end",
    "many matches": "local s = 'a' for i = 1, 16 do s = s .. s end for i = 1, 1e6 do s:gmatch('b') end",
    "letters": "local s = 'a' for i = 1, 16 do s = s .. s end for i = 1, 1e6 do s:upper() end",
    "a form": "local s = 'a' for i = 1, 16 do s = s .. s end for i = 1, 1e6 do ('%s'):format(s) end",
    "a sorted list": "local t = {} for i = 1, 9999 do t[i] = i end for i = 1, 1e5 do table.sort(t) end",
    "a joined list": "local t = {} for i = 1, 9999 do t[i] = 'abcdefghij' end for i = 1, 1e5 do table.concat(t) end",
    "the first of a list": "local t = {} for i = 1, 9999 do t[i] = i end for i = 1, 1e5 do table.insert(t, 1, i) end",
    "the keys of a map": "local t = {} for i = 1, 9999 do t['a' .. i] = i end for i = 1, 1e5 do pairs(t) end",
}


@pytest.mark.parametrize("text", WORK_WITHIN_THE_LIBRARIES.values(), ids=WORK_WITHIN_THE_LIBRARIES.keys())
def test_work_within_the_libraries_counts_as_instructions(runtime: Runtime, text: str) -> None:
    assert outcome(runtime, text) == f"s:2: needs more than {INSTRUCTIONS:,} instructions (an endless loop?)"


def test_to_walk_over_a_text_letter_by_letter_is_cheap(runtime: Runtime) -> None:
    text = "local s, n = 'a', 0 for i = 1, 15 do s = s .. s end for i = 1, #s do n = n + #s:sub(i, i) end return n"
    assert outcome(runtime, text) == str(2**15)


HIDDEN = {
    "after a text that goes on over the line": 'local a = "\\z\n  b" local s = 1LL',
    "after a line end of two characters in a text": 'local a = "x\\\r\n" local s = 1LL',
    "after a comment that a carriage return ends": "-- x\rlocal s = 1LL",
    "behind brackets in a line that is skipped": "# [[\nlocal s = 1LL --]]",
    "in a name with letters beyond ascii": "local s\u20ac = 1",
    "after such a name": "local \u0663 = 1LL",
}


@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN.keys())
def test_what_only_luajit_reads_cannot_be_hidden(runtime: Runtime, text: str) -> None:
    with pytest.raises(ScriptError, match=r"^s:\d: (malformed number|unexpected symbol|unfinished)"):
        runtime.compile(Script("s", text))


@pytest.mark.parametrize("name", ["upper", "lower", "reverse", "byte", "sub", "find", "match", "format", "len"])
def test_texts_of_more_than_a_million_bytes_go_into_no_function(runtime: Runtime, name: str) -> None:
    text = f"local s = ('x') for i = 1, 20 do s = s .. s end local y = s:{name}('a') return 1"
    assert outcome(runtime, text) == f"s:2: string.{name}: the text is longer than 1000000 bytes"


def test_a_script_of_hostile_brackets_is_read_in_one_pass(runtime: Runtime) -> None:
    for text in ("--[[" * 200_000, "[==[" * 200_000, "'" * 300_001, "(" * 500_000, "{" * 500_000, "a=" * 400_000):
        with pytest.raises(ScriptError, match=r"^s"):
            runtime.compile(Script("s", text))
    with pytest.raises(ScriptError, match=r"^s: the script is longer than 1,000,000 characters$"):
        runtime.compile(Script("s", " " * 1_000_001))


def test_scripts_that_fill_the_memory_are_renewed_with_the_state(runtime: Runtime) -> None:
    """Lua ends the process when it has no memory for what it is given from outside."""
    for n in range(12):
        text = f"function F() return {n} end " + ("do local function f() " + "f{1}" * 30_000 + " end end ") * 4
        script = Script(f"s{n}", text)
        runtime.compile(script)
        if n % 5 == 0:
            assert runtime.call(Request(script, "F")).values == (n,)


# -- saying the same every time ------------------------------------------------------------------------------------


def test_keys_come_in_their_own_order(runtime: Runtime) -> None:
    text = """
    local t, found = {z = 1, a = 2, [3] = 3, [1] = 4, [2.5] = 5, [true] = 6, [false] = 7, [-1] = 8}, {}
    for k, v in pairs(t) do found[#found + 1] = tostring(k) end
    local k, walked = nil, {}
    repeat k = next(t, k) walked[#walked + 1] = tostring(k) until k == nil
    return table.concat(found, ' ') .. ' | ' .. table.concat(walked, ' ')"""
    assert outcome(runtime, text) == "'-1 1 2.5 3 a z false true | -1 1 2.5 3 a z false true nil'"


def test_members_may_be_removed_on_the_way(runtime: Runtime) -> None:
    text = "local t = {a = 1, b = 2, c = 3} for k in pairs(t) do t.b = nil t[k] = nil end return next(t) == nil"
    assert outcome(runtime, text) == "True"


def test_random_numbers_and_addresses_are_the_same_in_every_run(runtime: Runtime) -> None:
    text = (
        "math.randomseed(os.time()) return {math.random(), math.random(6), tostring({}), tostring(print), tostring({})}"
    )
    first = outcome(runtime, text)
    assert first == outcome(Runtime(kube_module.FUNCTIONS), text)
    assert "'table: 0x00000001', 'function: 0x00000002', 'table: 0x00000003'" in first


def test_what_an_answer_depends_on_is_told(runtime: Runtime) -> None:
    def told(text: str) -> tuple[bool, bool, bool]:
        result = runtime.call(Request(Script("s", f"function F(o) {text} end"), "F", ({"b": 1, "a": 2},)))
        return result.told_time, result.took_order, result.took_chance

    assert told("return os.time()") == told("return os.date()") == (True, False, False)
    assert told("for k in pairs(o) do return k end") == (False, True, False)
    assert told("return math.random()") == (False, False, True)
    assert told("for i, v in ipairs({1, 2}) do end return os.date('%Y', 0)") == (False, False, False)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("os.time()", "1900000000"),
        ("os.date('!%Y-%m-%dT%H:%M:%SZ')", "'2030-03-17T17:46:40Z'"),
        ("os.date('%Y-%m-%d %H:%M %Z%z', 0)", "'1970-01-01 00:00 UTC+0000'"),
        ("os.date('*t', 86400).day", "2"),
        ("os.time({year = 2000, month = 2, day = 29, hour = 0})", "951782400"),
        ("os.time({year = 1970, month = 1, day = 1})", "43200"),
        ("os.time({year = 2023, month = 14, day = 1, hour = 1, min = 2, sec = 3})", "1706749323"),
        ("os.date('%E %Q')", "'%E %Q'"),
    ],
)
def test_time_is_what_we_say_and_always_utc(runtime: Runtime, text: str, wanted: str) -> None:
    found = runtime.call(Request(Script("s", f"function F() return {text} end"), "F", now=1_900_000_000))
    assert repr(found.values[0]) == wanted
