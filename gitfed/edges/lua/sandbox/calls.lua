-- How a script is compiled and called: the whole of it in an environment of its own, then its function.

local shared = ...
local run, tick = shared.run, shared.tick
local budget, step, longest = shared.budget, shared.step, shared.longest
local opened, copied, environment = shared.opened, shared.copied, shared.environment
local number_text, encode_list, encode_edits = shared.number_text, shared.encode_list, shared.encode_edits

local error, next, pcall, setfenv, type, getmetatable, load = error, next, pcall, setfenv, type, getmetatable, load
local sethook, getinfo = debug.sethook, debug.getinfo
local byte, sub = string.byte, string.sub

local function deep_copy(t)
  local copy = {}
  for k, v in next, t do
    if type(v) == "table" then v = deep_copy(v) end
    copy[k] = v
  end
  local lazy = getmetatable(t)
  return lazy and opened(copy, lazy.source, copied(lazy.pending)) or copy
end

local function body(chunk, env, name, wanted, original, ...)
  chunk()
  local f = env[name]
  if type(f) ~= "function" then
    error(f == nil and "the script defines no function " .. name or name .. " is not a function: " .. type(f), 0)
  end
  local info = getinfo(f, "S")
  if info.short_src ~= "sandbox" and info.linedefined > 0 then run.defined_at = info.linedefined end
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
  return run.stopped_at or run.defined_at or 0
end

local function finished(ok, first, second)
  sethook()
  if ok then
    local flags = (run.told_time and 1 or 0) + (run.took_order and 2 or 0) + (run.took_chance and 4 or 0)
    return true, first, second, flags, run.defined_at or 0
  end
  local kind = type(first)
  if kind == "number" then first = number_text(first) end
  if kind ~= "number" and kind ~= "string" then first = "the script raised a " .. kind .. " as its error" end
  if #first > longest then first = sub(first, 1, longest) end
  return false, first
end

-- `edits` asks for what was changed of the first argument, so that has to stay as it is. Otherwise the arguments are the
-- script's own: they were taken in for this call.
local function call(chunk, name, wanted, when, reverse, seed, edits, a, b)
  run.left, run.reason = budget, nil
  run.now, run.backwards, run.random_state, run.ids, run.count_of_ids = when, reverse, seed, {}, 0
  run.told_time, run.took_order, run.took_chance = false, false, false
  run.stopped_at, run.defined_at = nil, nil
  local original = edits and type(a) == "table" and a or nil
  if original then a = deep_copy(a) end
  local env = environment()
  setfenv(chunk, env)
  sethook(tick, "", step)
  return finished(pcall(body, chunk, env, name, wanted, original, a, b))
end

local function compile(text, name)
  if byte(text) == 27 then return nil, name .. ": compiled code is not accepted" end
  return load(text, "=" .. name, "t")
end

shared.compile, shared.call, shared.unhook, shared.place = compile, call, sethook, place
