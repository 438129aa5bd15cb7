-- What a script finds around itself: a fresh environment for every call, of copies, in which nothing leads back here.
--
-- No metatable, no debug, no load, no Python object. Names that a script may expect and does not get say so.

local shared = ...
local bridge, memory, encode_list = shared.bridge, shared.memory, shared.encode_list

local error, next, select, type, raw_tostring = error, next, select, type, tostring
local collectgarbage = collectgarbage
local gmatch = string.gmatch

-- The module `kube` --------------------------------------------------------------------------------------------------

local function kube_function(name)
  return function(...)
    local _, arguments = encode_list(select("#", ...), ...)
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
for name in gmatch("byte len lower reverse sub upper", "%a+") do STRING[name] = shared.bounded(name) end

local TABLE = {
  concat = shared.concat,
  insert = shared.insert,
  remove = shared.remove,
  sort = shared.sort,
  getn = function(t) return #t end,
  maxn = table.maxn,
}

local MATH = { huge = 1.7976931348623157e308, pi = math.pi, mod = math.fmod, random = shared.random, randomseed = function() end }
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

shared.environment, shared.copied = environment, copied
