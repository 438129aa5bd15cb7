-- What may differ from one run to the next, made the same: texts of values, and the order in which keys come.

local shared = ...
local run, charge, complete = shared.run, shared.charge, shared.complete

local error, next, select, type = error, next, select, type
local raw_tostring, raw_tonumber = tostring, tonumber
local sort, format, floor = table.sort, string.format, math.floor

-- Texts of values ----------------------------------------------------------------------------------------------------

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
  local id = run.ids[value]
  if not id then
    run.count_of_ids = run.count_of_ids + 1
    id = run.count_of_ids
    run.ids[value] = id
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

-- Order of keys ------------------------------------------------------------------------------------------------------

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
      run.took_order = true
      if run.backwards then
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

shared.number_text, shared.identity, shared.tostring = number_text, identity, sandbox_tostring
shared.check_table, shared.pairs, shared.next = check_table, sandbox_pairs, sandbox_next
