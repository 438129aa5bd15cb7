"""Published ways out of Lua sandboxes, as they were published, and that none of them leads anywhere.

Each is named after where it is known from. An attempt must end in an error of the script, and the next script must find
everything as it was.
"""

from __future__ import annotations

import pytest

from gitfed.edges.lua.request import Request, ScriptError
from gitfed.edges.lua.runtime import Runtime
from gitfed.interpret import kube_module
from gitfed.model.script import Script

LUPA = {
    "lupa: eval of Python": "return python.eval(\"__import__('os').popen('id').read()\")",
    "lupa: builtins (CVE-2026-34444)": "return python.builtins.getattr(o, '__class__')",
    "lupa: setattr past the filter (CVE-2026-34444)": "return python.builtins.setattr(o, 'x', 1)",
    "lupa: builtins by another name": "return _G['pyt' .. 'hon'].builtins.open('/etc/passwd')",
    "lupa: attribute getter": "return python.as_attrgetter(o).__class__",
    "lupa: item getter": "return python.as_itemgetter(o)['__class__']",
    "lupa: iterator over Python": "for x in python.iter(o) do return x end",
    "lupa: class of an argument": "return o.__class__.__base__.__subclasses__()",
    "lupa: dictionary of an argument": "return o.__dict__.x",
    "lupa: globals of a function": "return require('kube').resourceAdd.__globals__",
    "lupa: exception caught as an object": """
        local ok, e = pcall(require('kube').getResourceQuantity, 'x')
        return e.__traceback__.tb_frame.f_globals""",
    "lupa: exception through an error handler": """
        local seen xpcall(function() require('kube').getResourceQuantity({}) end, function(e) seen = e end)
        return seen.__class__.__mro__""",
    "lupa: a function passed to Python": "return require('kube').accuratePodRequirements(print)",
    "lupa: the filter itself": "return getmetatable(o).__index(o, '__class__')",
}
LUAJIT = {
    "LuaJIT: C functions": "local ffi = require('ffi') ffi.cdef('int system(const char*)') return ffi.C.system('id')",
    "LuaJIT: C functions already loaded": "return package.loaded.ffi.C.system('id')",
    "LuaJIT: C functions preloaded": "return package.preload.ffi()",
    "LuaJIT: a pointer from a number": "return 1LL",
    "LuaJIT: compiler switched on": "return jit.on()",
    "LuaJIT: internals of the compiler": "return require('jit.util').funcinfo(print)",
    "LuaJIT: buffer that decodes objects": "return require('string.buffer').decode('x')",
    "LuaJIT CVE-2019-19391: what a function is, asked of no function": "return debug.getinfo(1, '>S')",
    "LuaJIT CVE-2020-15890: collector in a frame half made": "return setmetatable({}, {__gc = print, __index = o})",
    "LuaJIT CVE-2020-24372: an error while an error is handled": """
        local function handler() return xpcall(error, handler) end
        local function loop() return 1 + loop() end
        for i = 1, 50 do xpcall(loop, handler) end error('still here')""",
    "LuaJIT CVE-2024-25176: a number wider than its buffer": """
        local text = ''
        for _, form in ipairs({'%7g', '%99.99g', '%99.99e', '%99.99f', '%99.99a', '%.99s'}) do
          for _, n in ipairs({2 ^ 401 * 1.07922, 1e308, -1e308, 5e-324, 2 ^ 1023, 1 / 3}) do
            text = text .. string.format(form, n)
          end
        end
        error('still here after ' .. #text)""",
    "LuaJIT CVE-2024-25177: a store to nothing in compiled code": "jit.opt.start('hotloop=1') return 1",
    "LuaJIT CVE-2024-25178: the stack is full while that is said": """
        local function again() return pcall(again) and again() + 1 end
        local function loop() local ok = xpcall(loop, again) return loop() + 1 end return loop()""",
    "LuaJIT: bytecode written by hand": "return loadstring('\\27LJ\\2\\0')()",
}
REDIS = {
    "Redis CVE-2015-8080: a size that wraps around": "return struct.pack('>I2147483648', '10')",
    "Redis CVE-2018-11218: packed by a stranger": "return cmsgpack.unpack(string.char(0xdc, 0xff, 0xff))",
    "Redis CVE-2021-32626: more results than the stack holds": """
        local function many(n) if n == 0 then return 1 end return 1, many(n - 1) end return #{many(1e7)}""",
    "Redis CVE-2024-31449: a negative width": "return bit.tohex(65535, -2147483648)",
    "Redis CVE-2022-0543: loadlib of the C library": "return package.loadlib('/lib/libc.so.6', 'system')('id')",
    "Redis CVE-2015-4335: bytecode changed and loaded": """
        return loadstring((string.dump(function() end):gsub('\\96', '\\22')))()""",
    "Redis CVE-2022-24735: other scripts' globals": "rawset(_G, 'tostring', print)",
    "Redis CVE-2024-46981: finalizers": "local p = newproxy(true) getmetatable(p).__gc = print",
    "Redis CVE-2025-49844: collector at the wrong time": "collectgarbage('step')",
    "Redis CVE-2025-46817: unpack beyond all measure": "return unpack({}, 1, 2147483647)",
    "Redis CVE-2025-46818: metatables of basic types": "getmetatable('').__index = function() return 'owned' end",
}
LUA = {
    "Lua CVE-2014-5461: many parameters and dots": f"""
        local function f({", ".join(f"p{i}" for i in range(50))}, ...) return ... end
        return (f(unpack({{}}, 1, 1e7)))""",
    "Lua CVE-2019-6706: joined upvalues": "debug.upvaluejoin(print, 1, print, 1)",
    "Lua CVE-2020-24370: local of a deep level": "return debug.getlocal(1, -2147483648)",
    "Lua CVE-2020-24371: coroutine collected early": "return coroutine.wrap(function() return 1 end)()",
    "Lua CVE-2021-43519: overflow in a handler": """
        local function loop(n) return 1 + loop(n) end
        local ok, e = xpcall(loop, function() return 1 + loop(1) end) error(e)""",
    "Lua CVE-2021-44964: collector and coroutines": "return coroutine.create(print)",
    "Lua CVE-2022-33099: an error made while there is no room for it": """
        local long = 'x' for i = 1, 14 do long = long .. long end
        local function loop() return pcall(error, long .. long) and loop() + 1 end
        local function deep() local ok, e = pcall(deep) return deep() .. long .. e end return deep()""",
    "Lua 5.1: a pattern that opens and never closes": """
        local p = '(' for i = 1, 12 do p = p .. p end return o.a, ('x'):find(p)""",
    "Lua 5.1: a set that never ends": "return ('x'):find('[%')",
    "Lua 5.1: a frontier behind the end": "return ('x'):find('%f'), error('still here')",
    "Lua 5.1: a captured position as a text": "return (('x'):match('()')):rep(1e9)",
    "Lua 5.1: slots far before the first": "table.insert({1, 2, 3}, -2 ^ 31, 'x') return 1",
    "Lua 5.1: a comparison that changes its table": """
        local t = {} for i = 1, 500 do t[i] = 500 - i end
        table.sort(t, function(a, b) t[#t + 1] = 0 t[1] = nil return true end) error('still here')""",
    "Lua CVE-2022-28805: parser beyond its buffer": "local _ENV <const> = {} return x",
    "Lua: environment of a level": "return getfenv(0).io",
    "Lua: environment of a function of ours": "return getfenv(require).io",
    "Lua: environment put in place": "setfenv(0, {}) return 1",
    "Lua: registry": "return debug.getregistry()",
    "Lua: upvalues of a library function": "return debug.getupvalue(pairs, 1)",
    "Lua: hook taken away": "debug.sethook() return 1",
    "Lua: library by its loader": "return package.loaders[2]('os')",
    "Lua: library by its path": "package.cpath = '/tmp/?.so' return require('x')",
    "Lua: module with a parent": "module('x', package.seeall) return 1",
    "Lua: texts' methods through the metatable": "return ('').rep('x', 1e9)",
    "Lua: texts' methods by index": "local s = '' return s['du' .. 'mp'](print)",
    "Lua: a program": "return os.execute('id')",
    "Lua: a pipe": "return io.popen('id'):read('*a')",
    "Lua: environment of the process": "return os.getenv('HOME')",
    "Lua: end of the process": "os.exit(0)",
    "Lua: a file as a script": "return dofile('/etc/passwd')",
    "Lua: a file in a message": "return loadfile('/etc/passwd')",
    "Lua: width of a format": "return ('%99999d'):format(1)",
    "Lua: a byte list without end": "return ('x'):byte(1, -1, 1e9), unpack({}, 1, 1e8)",
    "Lua: slots before the first": "return unpack({}, -2147483648, 2147483647)",
}
ATTEMPTS = {**LUPA, **LUAJIT, **REDIS, **LUA}


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    return Runtime(kube_module.FUNCTIONS)


@pytest.mark.parametrize("name", ATTEMPTS)
def test_a_published_escape_leads_nowhere(runtime: Runtime, name: str) -> None:
    script = Script("s", f"function F(o)\n{ATTEMPTS[name]}\nend")
    with pytest.raises(ScriptError, match=r"^s:"):
        runtime.call(Request(script, "F", ({"a": 1},)))
    clean = Script("t", "function F(o) return type(tostring) .. ('x'):upper() .. type(io) .. o.a end")
    assert runtime.call(Request(clean, "F", ({"a": 1},))).values == ("functionXnil1",)


@pytest.mark.parametrize("pattern", ["('a?'):sub(1, 2)", "'.-'", "'()'", "'(a*(.)%w(%s*))'"])
def test_a_pattern_that_goes_deeper_with_every_sign_does_not_overflow_the_real_stack(pattern: str) -> None:
    """Matching recurses in C."""
    text = f"""
        local p = {pattern} for i = 1, 15 do p = p .. p end
        local s = 'a' for i = 1, 16 do s = s .. s end
        return ('aaa' .. s):find(p)"""
    runtime = Runtime(kube_module.FUNCTIONS)
    with pytest.raises(ScriptError, match=r"^s:\d+: (pattern too complex|too many captures|malformed pattern)"):
        runtime.call(Request(Script("s", f"function F(o)\n{text}\nend"), "F", ({"a": 1},)))
