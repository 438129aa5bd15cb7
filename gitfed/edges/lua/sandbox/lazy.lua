-- Maps of which a part is not there yet: it is still with Python.
--
-- Most scripts look at a few members of an object, and to take in all of it costs more than everything else. So a map
-- comes with its plain members only; the names of its maps and lists are in `pending`, and one is taken in when a script
-- first asks for it. No script can tell: it has no rawget and no getmetatable, what is raw in the libraries looks at
-- numbers as keys only, of which a JSON map has none, and whatever walks over a table calls `complete` before.
--
-- `source` is the number that Python knows the map by: the same for every copy of it. A script's environment
-- (`environment.lua`) is such a map too; it has `fill` and no source.

local shared = ...
local stop, memory, reserve = shared.stop, shared.memory, shared.reserve
local python_member, python_json = shared.member, shared.member_json

local error, next, collectgarbage = error, next, collectgarbage
local getmetatable, setmetatable, rawset = getmetatable, setmetatable, rawset

local WHOLE = "\1whole" -- too little memory to take in a part of a body safely: to be run with all of it taken in before
local LAZY = {}

-- Memory that runs out while Python makes a value ends in the middle of Python, and nothing in the process works after
-- that. So Python is only asked while there is plenty.
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
  if not lazy then return end
  if lazy.fill then
    lazy.fill(t, lazy)
  else
    for k in next, lazy.pending do rawset(t, k, opened(member(lazy.source, k))) end
  end
  setmetatable(t, nil)
end

local function some_key(t)
  local k = next(t)
  local lazy = k == nil and getmetatable(t)
  if lazy then k = next(lazy.pending) end
  return k
end

shared.opened, shared.complete, shared.some_key = opened, complete, some_key
shared.take_member, shared.take_json = member, member_json
