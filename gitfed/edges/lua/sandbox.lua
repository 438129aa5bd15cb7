-- What a script finds around itself, and how one is called.
--
-- Runs once per Lua state, before any script. The locals of this file are the only way to the real libraries; a script
-- gets a fresh environment that holds copies, and nothing in it leads back here: no metatable, no debug, no load, no
-- Python object. Texts are byte strings throughout; Python passes UTF-8 through as Latin-1.
--
-- What may differ from one run to the next is taken away or made repeatable: `pairs` and `next` go in the order of the
-- keys, addresses are counted, random numbers begin anew, time is told from outside.

local bridge, python_member, python_json, memory, reserve, budget, step, seconds, effort = ...
if jit then jit.off() end -- compiled loops never call the hook

local error, next, pcall, select, setfenv, type, unpack = error, next, pcall, select, setfenv, type, unpack
local raw_tostring, raw_tonumber, load = tostring, tonumber, load
local getmetatable, setmetatable, rawget, rawset = getmetatable, setmetatable, rawget, rawset
local collectgarbage = collectgarbage
local sethook, getinfo, clock, raw_date = debug.sethook, debug.getinfo, os.clock, os.date
local concat, sort, insert, remove = table.concat, table.sort, table.insert, table.remove
local find, match, gmatch, gsub, sub, format = string.find, string.match, string.gmatch, string.gsub, string.sub, string.format
local byte, char = string.byte, string.char
local floor, log = math.floor, math.log

local LONGEST = 1000000 -- bytes of a text that goes into a function of `string`
local DEEPEST = 200 -- levels of a value that goes out
local OUT_OF_MEMORY = "not enough memory"
local BUDGET = "\1budget" -- instructions used up: an error of the script
local ELSEWHERE = "\1elsewhere" -- could hang where no hook looks: to be run in a process that can be killed
local WHOLE = "\1whole" -- too little memory to take in a part of a body safely: to be run with all of it taken in before

-- State of the one call that runs.
local left, deadline, worked, reason
local now, backwards, random_state, ids, count_of_ids
local told_time, took_order, took_chance
local stopped_at, defined_at -- lines of the script: where it was stopped, where its function begins

-- Limits --------------------------------------------------------------------------------------------------------

local function again()
  error(reason, 0)
end

-- From here on every instruction fails, so that no pcall of the script holds up the end.
local function stop(why)
  reason = why
  for level = 2, 12 do
    local info = getinfo(level, "Sl")
    if not info then break end
    if info.what ~= "C" and info.short_src ~= "sandbox" and info.currentline > 0 then
      stopped_at = info.currentline
      break
    end
  end
  sethook(again, "", 1)
  error(why, 0)
end

local function tick()
  left = left - step
  if left <= 0 then stop(BUDGET) end
  if clock() > deadline then stop(ELSEWHERE) end
end

-- For work inside C functions, which the hook does not see.
local function charge(amount)
  worked = worked + amount
  if worked > effort then stop(ELSEWHERE) end
end

-- Fails unless so many slots of the stack are free. Near its end the hook itself fails with a stack overflow, which a
-- pcall there would swallow again and again: so there is none.
local room
do
  local names = {}
  for i = 1, 190 do names[i] = "x" .. i end
  local many = concat(names, ", ")
  room = load("local f = ... return function() local " .. many .. " f() return 1 end")
  room = room(load("local " .. many .. " return 1"))
end
local EACH_PCALL = 200 -- instructions, whether or not the hook came to count

local function after(ok, message, ...)
  if not ok and message == OUT_OF_MEMORY then error(message, 0) end
  return ok, message, ...
end

local function sandbox_pcall(f, ...)
  room()
  left = left - EACH_PCALL
  if left <= 0 then stop(BUDGET) end
  return after(pcall(f, ...))
end

local function handled(handler, ok, ...)
  if ok then return ok, ... end
  return false, handler(...)
end

-- The real one runs its handler with hooks off.
local function sandbox_xpcall(f, handler)
  return handled(handler, sandbox_pcall(f))
end

-- Texts of values -----------------------------------------------------------------------------------------------

local function number_text(n)
  if n ~= n then return "NaN" end
  if n == 1 / 0 then return "+Inf" end
  if n == -1 / 0 then return "-Inf" end
  if n == floor(n) and n > -2 ^ 63 and n < 2 ^ 63 then
    if n == 0 then return "0" end
    return format("%.0f", n)
  end
  for digits = 14, 16 do
    local text = format("%." .. digits .. "g", n)
    if raw_tonumber(text) == n then return text end
  end
  return format("%.17g", n)
end

-- Addresses differ from run to run: a table is told by when its address was first asked for.
local function identity(value)
  local id = ids[value]
  if not id then
    count_of_ids = count_of_ids + 1
    id = count_of_ids
    ids[value] = id
  end
  return format("%s: 0x%08x", type(value), id)
end

local function sandbox_tostring(...)
  if select("#", ...) == 0 then error("bad argument #1 to 'tostring' (value expected)", 2) end
  local value = ...
  local kind = type(value)
  if kind == "string" then return value end
  if kind == "number" then return number_text(value) end
  if kind == "table" or kind == "function" then return identity(value) end
  return raw_tostring(value)
end

-- Maps of which a part is still with Python ---------------------------------------------------------------------
--
-- Most scripts look at a few members of an object, and to take in all of it costs more than everything else. So a map
-- comes with its plain members only; the names of its maps and lists are in `pending`, and one is taken in when a script
-- first asks for it. No script can tell: it has no rawget and no getmetatable, what is raw in the libraries looks at
-- numbers as keys only, of which a JSON map has none, and whatever walks over a table calls `complete` before.
--
-- `source` is the number that Python knows the map by: the same for every copy of it.

-- Memory that runs out while Python makes a value ends in the middle of Python, and nothing in the process works after
-- that. So Python is only asked while there is plenty.

local LAZY = {}

local function plenty()
  if collectgarbage("count") * 1024 > memory - reserve then stop(WHOLE) end
end

local function member(source, k)
  plenty()
  return python_member(source, k)
end

local function member_json(source, k)
  plenty()
  return python_json(source, k)
end

local function opened(t, source, pending)
  if t == false then error(source, 0) end
  if not pending then return t end
  return setmetatable(t, {
    __index = LAZY.index,
    __newindex = LAZY.newindex,
    pending = pending,
    source = source,
  })
end

function LAZY.index(t, k)
  local lazy = getmetatable(t)
  if not lazy.pending[k] then return nil end
  local v = opened(member(lazy.source, k))
  lazy.pending[k] = nil
  rawset(t, k, v)
  return v
end

function LAZY.newindex(t, k, v)
  if k == nil then error("table index is nil", 2) end
  if k ~= k then error("table index is NaN", 2) end
  getmetatable(t).pending[k] = nil
  rawset(t, k, v)
end

-- Makes it a table like any other; the maps in it may be lazy.
local function complete(t)
  local lazy = getmetatable(t)
  if lazy then
    for k in next, lazy.pending do rawset(t, k, opened(member(lazy.source, k))) end
    setmetatable(t, nil)
  end
end

local function some_key(t)
  local k = next(t)
  local lazy = k == nil and getmetatable(t)
  if lazy then k = next(lazy.pending) end
  return k
end

-- Order of keys -------------------------------------------------------------------------------------------------

local RANK = { number = 1, string = 2, boolean = 3 }

local function mixed_order(keys, n)
  local at = {}
  for i = 1, n do at[keys[i]] = i end
  sort(keys, function(a, b)
    local x, y = RANK[type(a)] or 4, RANK[type(b)] or 4
    if x ~= y then return x < y end
    if x <= 2 then return a < b end
    if x == 3 then return b and not a end
    return at[a] < at[b]
  end)
end

local function ordered(t)
  local keys, n, texts = {}, 0, 0
  complete(t)
  for k in next, t do
    n = n + 1
    keys[n] = k
    if type(k) == "string" then texts = texts + 1 end
  end
  charge(n * 8)
  if n > 1 then
    if texts == n then sort(keys) else mixed_order(keys, n) end
    local first = 1
    while first <= n and type(keys[first]) == "number" do first = first + 1 end
    if first < n then
      took_order = true
      if backwards then
        local i, j = first, n
        while i < j do
          keys[i], keys[j] = keys[j], keys[i]
          i, j = i + 1, j - 1
        end
      end
    end
  end
  return keys, n
end

local function check_table(t, name)
  if type(t) ~= "table" then
    error("bad argument #1 to '" .. name .. "' (table expected, got " .. (t == nil and "nil" or type(t)) .. ")", 3)
  end
end

local function sandbox_pairs(t)
  check_table(t, "pairs")
  local keys, n = ordered(t)
  local i = 0
  return function()
    while i < n do
      i = i + 1
      local k = keys[i]
      local v = t[k]
      if v ~= nil then return k, v end
    end
  end, t, nil
end

local function sandbox_next(t, k)
  check_table(t, "next")
  complete(t)
  local first, value = next(t)
  if first == nil then return nil end
  if k == nil and next(t, first) == nil then return first, value end
  local keys, n = ordered(t)
  local i = 0
  if k ~= nil then
    repeat i = i + 1 until i > n or keys[i] == k
    if i > n then error("invalid key to 'next'", 2) end
  end
  local following = keys[i + 1]
  if following == nil then return nil end
  return following, t[following]
end

-- Texts ---------------------------------------------------------------------------------------------------------

local function check_text(s, name)
  if type(s) == "number" then return number_text(s) end
  if type(s) ~= "string" then
    error("bad argument #1 to '" .. name .. "' (string expected, got " .. (s == nil and "nil" or type(s)) .. ")", 3)
  end
  if #s > LONGEST then error("string." .. name .. ": the text is longer than 1000000 bytes", 3) end
  return s
end

local function bounded(name)
  local f = string[name]
  return function(s, ...)
    return f(check_text(s, name), ...)
  end
end

-- The pattern without signs that repeat nothing: escaped, in a set, or first in a capture or after one. The arguments
-- of %b look like all of these.
local function signs(p)
  if #p > 100 or find(p, "%b", 1, true) then return p end
  p = gsub(p, "%%%p", "x")
  p = gsub(p, "%[%^?.[^%]]*%]", "x")
  return (gsub(p, "[()][%*%+%-%?]", "x"))
end

-- No match takes more steps than this: every repetition may end at every place of the subject.
local function steps(s, p, anchored)
  local _, repeats = gsub(signs(p), "[%*%+%-%?]", "")
  local _, others = gsub(p, "%%[b%d]", "")
  return (#s + 1) ^ (repeats + others + (anchored and 0 or 1)) + #p
end

local function check_pattern(p, name)
  if type(p) == "number" then return number_text(p) end
  if type(p) ~= "string" then
    error("bad argument #2 to '" .. name .. "' (string expected, got " .. (p == nil and "nil" or type(p)) .. ")", 3)
  end
  if #p > LONGEST then error("string." .. name .. ": the pattern is longer than 1000000 bytes", 3) end
  return p
end

local function sandbox_find(s, p, from, plain)
  s, p = check_text(s, "find"), check_pattern(p, "find")
  if plain then charge(#s) else charge(steps(s, p, byte(p) == 94)) end
  return find(s, p, from, plain)
end

local function sandbox_match(s, p, from)
  s, p = check_text(s, "match"), check_pattern(p, "match")
  charge(steps(s, p, byte(p) == 94))
  return match(s, p, from)
end

local function sandbox_gmatch(s, p)
  s, p = check_text(s, "gmatch"), check_pattern(p, "gmatch")
  local each, amount = gmatch(s, p), steps(s, p, false)
  return function()
    charge(amount)
    return each()
  end
end

local function sandbox_format(text, ...)
  text = check_text(text, "format")
  if find(gsub(text, "%%%%", ""), "%%[-+ #0-9.]*p") then error("string.format: %p is not supported", 2) end
  local n = select("#", ...)
  if n == 0 then return format(text) end
  local values = { ... }
  for i = 1, n do
    local kind = type(values[i])
    if kind == "table" or kind == "function" then values[i] = identity(values[i]) end
    if kind == "string" and #values[i] > LONGEST then error("string.format: a text is longer than 1000000 bytes", 2) end
  end
  return format(text, unpack(values, 1, n))
end

-- Tables, numbers, time -----------------------------------------------------------------------------------------

local function sandbox_sort(t, before)
  if type(t) == "table" and #t > 1 then charge(#t * log(#t) * 2) end
  return sort(t, before)
end

local function sandbox_concat(t, ...)
  if type(t) == "table" then charge(#t) end
  return concat(t, ...)
end

local function sandbox_insert(t, ...)
  if type(t) == "table" and select("#", ...) > 1 then
    local position = raw_tonumber((...))
    if position and position < 1 then error("bad argument #2 to 'insert' (position out of bounds)", 2) end
    charge(#t)
  end
  return insert(t, ...)
end

local function sandbox_remove(t, ...)
  if type(t) == "table" and select("#", ...) > 0 then charge(#t) end
  return remove(t, ...)
end

local function random(low, high)
  took_chance = true
  random_state = (random_state * 1103515245 + 12345) % 2147483648
  local fraction = random_state / 2147483648
  if low == nil then return fraction end
  if high == nil then low, high = 1, low end
  if low > high then error("bad argument to 'random' (interval is empty)", 2) end
  return low + floor(fraction * (high - low + 1))
end

local FLAGS = "[aAbBcdFHImMpPSwxXyY%%]"

local function time_format(flag)
  if flag == "Z" then return "UTC" end
  if flag == "z" then return "+0000" end
  if flag == "F" then return "%Y-%m-%d" end
  if find(flag, FLAGS) then return "%" .. flag end
  return "%%" .. flag
end

-- Always UTC: what a script says must not depend on where it runs.
local function sandbox_date(text, when)
  if when == nil then
    told_time = true
    when = now
  end
  text = text == nil and "%c" or check_text(text, "date")
  if byte(text) == 33 then text = sub(text, 2) end
  if sub(text, 1, 2) == "*t" then return raw_date("!*t", when) end
  if text == "" then return "" end
  return raw_date("!" .. gsub(text, "%%(.)", time_format), when)
end

local function sandbox_time(t)
  if t == nil then
    told_time = true
    return now
  end
  check_table(t, "time")
  local function part(name, otherwise)
    local n = raw_tonumber(t[name])
    if n == nil and otherwise == nil then error("field '" .. name .. "' missing in date table", 3) end
    return floor(n or otherwise)
  end
  local year, month, day = part("year"), part("month"), part("day")
  year, month = year + floor((month - 1) / 12), (month - 1) % 12 + 1
  if month <= 2 then year, month = year - 1, month + 12 end
  local days = 365 * year + floor(year / 4) - floor(year / 100) + floor(year / 400)
  days = days + floor((153 * (month - 3) + 2) / 5) + day - 719469
  return days * 86400 + part("hour", 12) * 3600 + part("min", 0) * 60 + part("sec", 0)
end

-- Values out: JSON ----------------------------------------------------------------------------------------------

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\" }
for code = 0, 31 do ESCAPES[char(code)] = format("\\u%04x", code) end

local function text_json(s)
  if find(s, '[%z\1-\31"\\]') then s = gsub(s, '[%z\1-\31"\\]', ESCAPES) end
  return '"' .. s .. '"'
end

local encode

-- Members that are still with Python: it knows most of them as JSON, and of the others what they are.
local function encode_pending(lazy, mark, out, n, path, depth)
  for k in next, lazy.pending do
    out[n + 1] = mark .. text_json(k) .. ":"
    mark = ","
    local text = member_json(lazy.source, k)
    if text then
      out[n + 2] = text
      n = n + 2
    else
      n = encode(opened(member(lazy.source, k)), out, n + 1, path, depth)
    end
  end
  return n
end

local function encode_table(t, out, n, path, depth)
  if path[t] then error("a table that holds itself cannot be returned", 0) end
  if depth > DEEPEST then error("a table nested more than 200 levels deep cannot be returned", 0) end
  path[t] = true
  local first, lazy = next(t), getmetatable(t)
  if lazy and (type(first) == "number" or depth > DEEPEST / 2) then
    complete(t)
    first, lazy = next(t), nil
  elseif lazy and first == nil then
    first = next(lazy.pending)
  end
  if first == nil then
    out[n + 1] = "[]"
    n = n + 1
  elseif type(first) == "number" then
    local size = 0
    for k in next, t do
      if type(k) ~= "number" then error("a table with both numbers and names as keys cannot be returned", 0) end
      size = size + 1
    end
    for i = 1, size do
      local v = t[i]
      if v == nil then error("a list with holes cannot be returned", 0) end
      out[n + 1] = i == 1 and "[" or ","
      n = encode(v, out, n + 1, path, depth)
    end
    out[n + 1] = "]"
    n = n + 1
  else
    local mark = "{"
    for k, v in next, t do
      if type(k) ~= "string" then
        local what = type(k) == "number" and "both numbers and names" or "a " .. type(k)
        error("a table with " .. what .. " as keys cannot be returned", 0)
      end
      out[n + 1] = mark .. text_json(k) .. ":"
      mark = ","
      n = encode(v, out, n + 1, path, depth)
    end
    if lazy then n = encode_pending(lazy, mark, out, n, path, depth) end
    out[n + 1] = "}"
    n = n + 1
  end
  path[t] = nil
  return n
end

function encode(v, out, n, path, depth)
  local kind = type(v)
  local text
  if kind == "table" then
    return encode_table(v, out, n, path, depth + 1)
  elseif kind == "string" then
    text = text_json(v)
  elseif kind == "number" then
    if v ~= v or v == 1 / 0 or v == -1 / 0 then error(number_text(v) .. " cannot be returned", 0) end
    if v == floor(v) and v > -2 ^ 63 and v < 2 ^ 63 then
      text = v == 0 and "0" or format("%.0f", v)
    else
      text = format("%.17g", v)
    end
  elseif kind == "boolean" then
    text = v and "true" or "false"
  elseif kind == "nil" then
    text = "null"
  else
    error("a " .. kind .. " cannot be returned", 0)
  end
  out[n + 1] = text
  return n + 1
end

-- Where `new` differs from `old`, as JSON: {path, value} or {path} for a member that is gone. Maps are entered, and lists
-- of the same length; any other difference is one value. `old` is a tree that no script has seen.
local function same_shape(old, new)
  if type(old) ~= "table" or type(new) ~= "table" then return false end
  local first, other = some_key(old), some_key(new)
  if first == nil or other == nil then return false end
  if type(first) ~= "number" and type(other) == "string" then return "map" end
  if type(first) ~= "number" or type(other) ~= "number" or #old ~= #new then return false end
  return "list"
end

local function put(path, depth, v, out, n)
  out[n + 1] = out[n] == "[" and "[[" or ",[["
  n = n + 1
  for i = 1, depth do
    local k = path[i]
    out[n + 1] = (i > 1 and "," or "") .. (type(k) == "number" and format("%.0f", k - 1) or text_json(k))
    n = n + 1
  end
  if v == nil then
    out[n + 1] = "]]"
    return n + 1
  end
  out[n + 1] = "],"
  n = encode(v, out, n + 1, {}, depth)
  out[n + 1] = "]"
  return n + 1
end

local NONE = {}

local function gone(names, new, pending, path, depth, out, n)
  for k in next, names do
    if rawget(new, k) == nil and not pending[k] then
      path[depth + 1] = k
      n = put(path, depth + 1, nil, out, n)
    end
  end
  return n
end

local function differences(old, new, path, depth, out, n)
  if depth > DEEPEST then error("a table nested more than 200 levels deep cannot be returned", 0) end
  local shape = same_shape(old, new)
  local count = 0
  local lazy, pending = getmetatable(old), getmetatable(new)
  if pending and not (lazy and lazy.source == pending.source) then
    complete(new)
    pending = nil
  end
  pending = pending and pending.pending or NONE -- what no script has asked for is as it was
  for k, v in next, new do
    count = count + 1
    if type(k) ~= (shape == "map" and "string" or "number") then
      return encode(new, out, n, {}, depth) -- it cannot be returned, and says why
    end
    local before = old[k]
    if v ~= before then
      path[depth + 1] = k
      local inner = before ~= nil and same_shape(before, v)
      if inner then
        n = differences(before, v, path, depth + 1, out, n)
      elseif not (type(v) == "table" and some_key(v) == nil and type(before) == "table" and some_key(before) == nil) then
        n = put(path, depth + 1, v, out, n)
      end
    end
  end
  if shape == "list" then
    if count ~= #old then return encode(new, out, n, {}, depth) end
  else
    n = gone(old, new, pending, path, depth, out, n)
    if lazy then n = gone(lazy.pending, new, pending, path, depth, out, n) end
  end
  return n
end

-- What a function made of its first argument: nil when it is not the same kind of thing any more.
local function encode_edits(old, new)
  if same_shape(old, new) ~= "map" then return nil end
  local out = { "[" }
  local n = differences(old, new, {}, 0, out, 1)
  out[n + 1] = "]"
  return concat(out, "", 1, n + 1)
end

-- The first `wanted` of the values, as a JSON list, and their types.
local function encode_list(wanted, ...)
  local out, n, kinds = { "[" }, 1, {}
  for i = 1, wanted do
    local v = (select(i, ...))
    if i > 1 then
      out[n + 1] = ","
      n = n + 1
    end
    n = encode(v, out, n, {}, 0)
    kinds[i] = type(v)
  end
  out[n + 1] = "]"
  return concat(kinds, " "), concat(out, "", 1, n + 1)
end

-- The module `kube` ---------------------------------------------------------------------------------------------

local function kube_function(name)
  return function(...)
    local _, arguments = encode_list(select("#", ...), ...)
    if collectgarbage("count") > memory / 1024 - 1024 then
      collectgarbage()
      if collectgarbage("count") > memory / 1024 - 1024 then error(OUT_OF_MEMORY, 0) end
    end
    -- An exception would arrive as a Python object in the script's pcall, so the bridge has none.
    local ok, value = bridge(name, arguments)
    if not ok then error(value, 2) end
    return value
  end
end

local KUBE = {}
for _, name in ipairs({ "resourceAdd", "getResourceQuantity", "accuratePodRequirements", "getPodDependencies" }) do
  KUBE[name] = kube_function(name)
end

-- The environment -----------------------------------------------------------------------------------------------

local function refused(name)
  return function()
    error(name .. " is not available to interpreter scripts", 2)
  end
end

local BASE = {
  _VERSION = "Lua 5.1",
  assert = assert,
  error = error,
  ipairs = ipairs,
  next = sandbox_next,
  pairs = sandbox_pairs,
  pcall = sandbox_pcall,
  print = function() end,
  select = select,
  tonumber = tonumber,
  tostring = sandbox_tostring,
  type = type,
  unpack = unpack,
  xpcall = sandbox_xpcall,
}
for name in
  gmatch(
    "collectgarbage dofile getfenv setfenv getmetatable setmetatable load loadfile loadstring rawequal rawget rawset module newproxy",
    "%a+"
  )
do
  BASE[name] = refused(name)
end

local STRING = {
  find = sandbox_find,
  match = sandbox_match,
  gmatch = sandbox_gmatch,
  gfind = sandbox_gmatch,
  format = sandbox_format,
  char = char,
  gsub = refused("string.gsub"),
  rep = refused("string.rep"),
  dump = refused("string.dump"),
}
for name in gmatch("byte len lower reverse sub upper", "%a+") do STRING[name] = bounded(name) end

local TABLE = {
  concat = sandbox_concat,
  insert = sandbox_insert,
  remove = sandbox_remove,
  sort = sandbox_sort,
  getn = function(t) return #t end,
  maxn = table.maxn,
}

local MATH = { huge = 1.7976931348623157e308, pi = math.pi, mod = math.fmod, random = random, randomseed = function() end }
for name in
  gmatch(
    "abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp ldexp log log10 max min modf pow rad sin sinh sqrt tan tanh",
    "%w+"
  )
do
  MATH[name] = math[name]
end

local OS = { time = sandbox_time, date = sandbox_date }

-- Methods of texts are looked up here whatever the environment says.
debug.getmetatable("").__index = STRING
debug.getmetatable("").__metatable = false

local function copied(t)
  local copy = {}
  for k, v in next, t do copy[k] = v end
  return copy
end

local function environment()
  local env = copied(BASE)
  env._G = env
  env.string, env.table, env.math, env.os = copied(STRING), copied(TABLE), copied(MATH), copied(OS)
  local kube
  local package = { preload = {}, loaded = {} }
  env.package = package
  function env.require(name)
    if name == "kube" then
      kube = kube or copied(KUBE)
      return kube
    end
    if name == "string" or name == "table" or name == "math" or name == "os" or name == "package" or name == "_G" then
      return env[name]
    end
    local known = package.loaded[name]
    if known ~= nil then return known end
    local loader = type(package.preload) == "table" and package.preload[name]
    if type(loader) ~= "function" then
      error("module " .. raw_tostring(name) .. " not found: there are only kube and the open libraries", 2)
    end
    known = loader(name)
    package.loaded[name] = known == nil and true or known
    return package.loaded[name]
  end
  return env
end

-- Calls ---------------------------------------------------------------------------------------------------------

local function deep_copy(t)
  local copy = {}
  for k, v in next, t do
    if type(v) == "table" then v = deep_copy(v) end
    copy[k] = v
  end
  local lazy = getmetatable(t)
  return lazy and opened(copy, lazy.source, copied(lazy.pending)) or copy
end

local function body(chunk, name, wanted, original, ...)
  local env = environment()
  setfenv(chunk, env)
  chunk()
  local f = env[name]
  if type(f) ~= "function" then
    error(f == nil and "the script defines no function " .. name or name .. " is not a function: " .. type(f), 0)
  end
  local info = getinfo(f, "S")
  if info.short_src ~= "sandbox" and info.linedefined > 0 then defined_at = info.linedefined end
  if original then
    local value = f(...)
    local edits = encode_edits(original, value)
    if edits then return "edits", edits end
    return encode_list(1, value)
  end
  return encode_list(wanted, f(...))
end

-- The line of the script that a message without one is about; 0 when it came to none.
local function place()
  return stopped_at or defined_at or 0
end

local function finished(ok, first, second)
  sethook()
  if ok then return true, first, second, told_time, took_order, took_chance, defined_at or 0 end
  local kind = type(first)
  if kind == "number" then first = number_text(first) end
  if kind ~= "number" and kind ~= "string" then first = "the script raised a " .. kind .. " as its error" end
  return false, first
end

-- `mode` "edits" asks for what was changed of the first argument, "reads" promises that the script changes none.
local function call(chunk, name, wanted, when, reverse, seed, mode, a, b)
  left, deadline, worked, reason = budget, clock() + seconds, 0, nil
  now, backwards, random_state, ids, count_of_ids = when, reverse, seed, {}, 0
  told_time, took_order, took_chance = false, false, false
  stopped_at, defined_at = nil, nil
  local original = mode == "edits" and a or nil
  if mode ~= "reads" then
    if type(a) == "table" then a = deep_copy(a) end
    if type(b) == "table" then b = deep_copy(b) end
  end
  sethook(tick, "", step)
  return finished(pcall(body, chunk, name, wanted, original, a, b))
end

local function compile(text, name)
  if byte(text) == 27 then return nil, name .. ": compiled code is not accepted" end
  return load(text, "=" .. name, "t")
end

return compile, call, sethook, place, opened
