-- Values out: JSON, whole or as what was changed.
--
-- What JSON cannot hold is an error of the script here, with the reason. Of a map that is partly with Python (`lazy.lua`)
-- the rest is written from there.

local shared = ...
local number_text = shared.number_text
local opened, complete, some_key = shared.opened, shared.complete, shared.some_key
local member, member_json = shared.take_member, shared.take_json

local error, next, select, type, getmetatable, rawget = error, next, select, type, getmetatable, rawget
local concat = table.concat
local find, gsub, format, char = string.find, string.gsub, string.format, string.char
local floor = math.floor

local DEEPEST = 200 -- levels of a value that goes out

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
  if lazy and (lazy.fill or type(first) == "number" or depth > DEEPEST / 2) then
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

shared.encode_list, shared.encode_edits = encode_list, encode_edits
