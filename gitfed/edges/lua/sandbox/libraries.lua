-- The functions of `string`, `table`, `math` and `os` that a script gets in place of the real ones: bounded in what they
-- take, charged for what they do (`limits.lua`), and the same in every run.

local shared = ...
local run, charge = shared.run, shared.charge
local number_text, identity, check_table = shared.number_text, shared.identity, shared.check_table

local error, select, type, unpack, raw_tonumber = error, select, type, unpack, tonumber
local raw_date = os.date
local concat, sort, insert, remove = table.concat, table.sort, table.insert, table.remove
local find, match, gmatch, gsub, sub = string.find, string.match, string.gmatch, string.gsub, string.sub
local format, byte = string.format, string.byte
local floor, log = math.floor, math.log

local LONGEST = 1000000 -- bytes of a text that goes into a function of `string`

-- Texts --------------------------------------------------------------------------------------------------------------

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

-- As above, for functions that look at all of the text.
local function bounded_whole(name)
  local f = string[name]
  return function(s, ...)
    s = check_text(s, name)
    charge(#s)
    return f(s, ...)
  end
end

local function check_pattern(p, name)
  if type(p) == "number" then return number_text(p) end
  if type(p) ~= "string" then
    error("bad argument #2 to '" .. name .. "' (string expected, got " .. (p == nil and "nil" or type(p)) .. ")", 3)
  end
  if #p > LONGEST then error("string." .. name .. ": the pattern is longer than 1000000 bytes", 3) end
  return p
end

-- How much of a text was looked at, which began at `from` and found something at `first`.
local function looked_at(s, p, from, first, ...)
  from = raw_tonumber(from) or 1
  if from < 0 then from = from + #s end
  charge((first or #s) - from + #p)
  return first, ...
end

local function sandbox_find(s, p, from, plain)
  s, p = check_text(s, "find"), check_pattern(p, "find")
  return looked_at(s, p, from, find(s, p, from, plain))
end

local function sandbox_match(s, p, from)
  s, p = check_text(s, "match"), check_pattern(p, "match")
  charge(#s + #p)
  return match(s, p, from)
end

-- Where a pattern is bound to the beginning there is one match; Lua 5.1 would look for the sign itself.
local function matched_once(s, p)
  local done = false
  return function()
    if done then return nil end
    done = true
    return sandbox_match(s, p)
  end
end

local function sandbox_gmatch(s, p)
  s, p = check_text(s, "gmatch"), check_pattern(p, "gmatch")
  if byte(p) == 94 then return matched_once(s, p) end
  charge(#s + #p)
  return gmatch(s, p)
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
  text = format(text, unpack(values, 1, n))
  charge(#text)
  return text
end

-- Tables, numbers, time ----------------------------------------------------------------------------------------------

local function sandbox_sort(t, before)
  if type(t) == "table" and #t > 1 then charge(#t * log(#t) * 10) end
  return sort(t, before)
end

-- A range that leaves the list is cut to it.
local function sandbox_concat(t, between, first, last)
  if type(t) ~= "table" then return concat(t) end
  charge(#t)
  first, last = raw_tonumber(first or 1) or first, raw_tonumber(last or #t) or last
  if type(first) == "number" and first < 1 then first = 1 end
  if type(last) == "number" and last > #t then last = #t end
  local text = concat(t, between or "", first, last)
  charge(#text)
  return text
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
  run.took_chance = true
  run.random_state = (run.random_state * 1103515245 + 12345) % 2147483648
  local fraction = run.random_state / 2147483648
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
    run.told_time = true
    when = run.now
  end
  text = text == nil and "%c" or check_text(text, "date")
  if byte(text) == 33 then text = sub(text, 2) end
  if sub(text, 1, 2) == "*t" then return raw_date("!*t", when) end
  if text == "" then return "" end
  return raw_date("!" .. gsub(text, "%%(.)", time_format), when)
end

local function sandbox_time(t)
  if t == nil then
    run.told_time = true
    return run.now
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

shared.bounded, shared.bounded_whole = bounded, bounded_whole
shared.find, shared.match, shared.gmatch = sandbox_find, sandbox_match, sandbox_gmatch
shared.format, shared.random = sandbox_format, random
shared.sort, shared.concat, shared.insert, shared.remove = sandbox_sort, sandbox_concat, sandbox_insert, sandbox_remove
shared.date, shared.time = sandbox_date, sandbox_time
