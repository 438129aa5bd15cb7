local kube = require("kube")

local function amounts(items, field)
  local total = "0"
  for _, amount in ipairs(status.values(items, field)) do
    if amount ~= "" then
      total = kube.resourceAdd(total, amount)
    end
  end
  return total
end

-- Mostly plain numbers, and then the sum is one. A part of a device may be written as an amount (`500m`).
local function devices(items, field)
  local total = 0
  for _, amount in ipairs(status.values(items, field)) do
    local number = amount == "" and 0 or tonumber(amount)
    if number == nil then
      return amounts(items, field)
    end
    total = total + number
  end
  return tostring(total)
end

local function combine(items, own)
  own.conditions = status.concat(items, "conditions")
  own.desiredCPU = amounts(items, "desiredCPU")
  own.desiredMemory = amounts(items, "desiredMemory")
  own.desiredGPU = devices(items, "desiredGPU")
  own.desiredTPU = devices(items, "desiredTPU")
  own.lastUpdateTime = status.latest(items, "lastUpdateTime")
  own.endpoints = status.values(items, "endpoints")[1]
  own.head = status.values(items, "head")[1]
  own.state, own.stateTransitionTimes = nil, nil
  status.sums(own, items, {
    "readyWorkerReplicas", "availableWorkerReplicas", "maxWorkerReplicas", "minWorkerReplicas",
    "desiredWorkerReplicas",
  })
  for _, item in ipairs(items) do
    if item.status ~= nil and item.status.state ~= nil then
      own.state, own.stateTransitionTimes = item.status.state, item.status.stateTransitionTimes
      break
    end
  end
end

function AggregateStatus(desiredObj, statusItems)
  return ray.aggregate(desiredObj, statusItems, combine)
end
