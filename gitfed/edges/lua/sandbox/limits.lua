-- How much a call may do, and how it ends when it does more.
--
-- Instructions are counted by a hook, which nothing of a script can take away or swallow. What C functions do at one go,
-- where no hook looks, is charged for as so many instructions; what cannot be foreseen, a pattern that backtracks, is
-- ended with the process. `run` is the state of the one call that runs; `calls.lua` begins it.

local shared = ...
local run = shared.run
local step = shared.step

local error, pcall, load = error, pcall, load
local sethook, getinfo = debug.sethook, debug.getinfo
local concat = table.concat

if jit then jit.off() end -- compiled loops never call the hook

-- Errors that are told to Python by their text.
local OUT_OF_MEMORY = "not enough memory"
local BUDGET = "\1budget" -- instructions used up: an error of the script
local STEPS = 10 -- bytes or the like that cost as much as an instruction

local function again()
  error(run.reason, 0)
end

-- From here on every instruction fails, so that no pcall of the script holds up the end.
local function stop(why)
  run.reason = why
  for level = 2, 12 do
    local info = getinfo(level, "Sl")
    if not info then break end
    if info.what ~= "C" and info.short_src ~= "sandbox" and info.currentline > 0 then
      run.stopped_at = info.currentline
      break
    end
  end
  sethook(again, "", 1)
  error(why, 0)
end

local function tick()
  run.left = run.left - step
  if run.left <= 0 then stop(BUDGET) end
end

-- For work inside C functions, which the hook does not see.
local function charge(amount)
  if amount <= 0 then return end
  run.left = run.left - amount / STEPS
  if run.left <= 0 then stop(BUDGET) end
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
  run.left = run.left - EACH_PCALL
  if run.left <= 0 then stop(BUDGET) end
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

shared.OUT_OF_MEMORY = OUT_OF_MEMORY
shared.stop, shared.tick, shared.charge = stop, tick, charge
shared.pcall, shared.xpcall = sandbox_pcall, sandbox_xpcall
