-- What a script finds around itself: a fresh environment for every call, of copies, in which nothing leads back here.
--
-- No metatable that a script could see, no debug, no load, no Python object. Names that a script may expect and does not
-- get say so. Most scripts use a few names, so each is put in when it is first looked up (`lazy.lua` has the same trick
-- for bodies); what a script puts there itself, or takes away, is its own from then on.

local shared = ...
local charge, bridge, memory, encode_list = shared.charge, shared.bridge, shared.memory, shared.encode_list

local error, next, select, type, raw_tostring = error, next, select, type, tostring
local getmetatable, setmetatable, rawset = getmetatable, setmetatable, rawset
local collectgarbage = collectgarbage
local gmatch = string.gmatch

-- The module `kube` --------------------------------------------------------------------------------------------------

local function kube_function(name)
  return function(...)
    local _, arguments = encode_list(select("#", ...), ...)
    charge(#arguments * 10)
    if collectgarbage("count") > memory / 1024 - 1024 then
      collectgarbage()
      if collectgarbage("count") > memory / 1024 - 1024 then error(shared.OUT_OF_MEMORY, 0) end
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

-- The environment ----------------------------------------------------------------------------------------------------

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
  next = shared.next,
  pairs = shared.pairs,
  pcall = shared.pcall,
  print = function() end,
  select = select,
  tonumber = tonumber,
  tostring = shared.tostring,
  type = type,
  unpack = unpack,
  xpcall = shared.xpcall,
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
  find = shared.find,
  match = shared.match,
  gmatch = shared.gmatch,
  gfind = shared.gmatch,
  format = shared.format,
  char = string.char,
  gsub = refused("string.gsub"),
  rep = refused("string.rep"),
  dump = refused("string.dump"),
}
for name in gmatch("byte len sub", "%a+") do STRING[name] = shared.bounded(name) end
for name in gmatch("lower reverse upper", "%a+") do STRING[name] = shared.bounded_whole(name) end

local TABLE = {
  concat = shared.concat,
  insert = shared.insert,
  remove = shared.remove,
  sort = shared.sort,
  getn = function(t) return #t end,
  maxn = table.maxn,
}

local MATH = {
  huge = 1.7976931348623157e308,
  pi = math.pi,
  mod = function(a, b) return a % b end, -- like the operator; `fmod` takes the sign of its first argument
  random = shared.random,
  randomseed = function() end,
}
for name in
  gmatch(
    "abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp ldexp log log10 max min modf pow rad sin sinh sqrt tan tanh",
    "%w+"
  )
do
  MATH[name] = math[name]
end

local OS = { time = shared.time, date = shared.date }

-- Methods of texts are looked up here whatever the environment says.
debug.getmetatable("").__index = STRING
debug.getmetatable("").__metatable = false

local function copied(t)
  local copy = {}
  for k, v in next, t do copy[k] = v end
  return copy
end

local LIBRARIES = { string = STRING, table = TABLE, math = MATH, os = OS }

-- `package` and the `require` that goes with it.
local function loading(env)
  local package = { preload = {}, loaded = {} }
  local kube
  local function require(name)
    if name == "kube" then
      kube = kube or copied(KUBE)
      return kube
    end
    if LIBRARIES[name] or name == "package" or name == "_G" then return env[name] end
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
  return { package = package, require = require }
end

-- What a script finds under a name that it has not touched yet; nil if there is nothing.
local function given(env, own, k)
  local v = BASE[k]
  if v ~= nil then return v end
  if LIBRARIES[k] then return copied(LIBRARIES[k]) end
  if k == "_G" then return env end
  if k == "package" or k == "require" then
    own.loading = own.loading or loading(env)
    return own.loading[k]
  end
end

local NAMES = copied(BASE)
for name in gmatch("string table math os _G package require", "[%a_]+") do NAMES[name] = true end

local function index(env, k)
  local own = getmetatable(env)
  if own.touched[k] then return nil end
  local v = given(env, own, k)
  if v ~= nil then
    rawset(env, k, v)
    own.touched[k] = true
  end
  return v
end

local function newindex(env, k, v)
  if k == nil then error("table index is nil", 2) end
  if k ~= k then error("table index is NaN", 2) end
  rawset(env, k, v)
  getmetatable(env).touched[k] = true
end

-- For `lazy.lua`, when a script walks over its environment.
local function fill(env, own)
  for k in next, NAMES do
    if not own.touched[k] then rawset(env, k, given(env, own, k)) end
  end
end

local function environment()
  return setmetatable({}, { __index = index, __newindex = newindex, touched = {}, fill = fill, pending = NAMES })
end

shared.environment, shared.copied = environment, copied
