local kube = require("kube")

local function amounts(items, field)
  local total = "0"
  for _, amount in ipairs(status.values(items, field)) do
    total = kube.resourceAdd(total, amount)
  end
  return total
end

local function devices(items, field)
  local total = 0
  for _, amount in ipairs(status.values(items, field)) do
    total = total + (tonumber(amount) or 0)
  end
  return tostring(total)
end

local function combine(items)
  local own = {
    conditions = status.concat(items, "conditions"),
    desiredCPU = amounts(items, "desiredCPU"),
    desiredMemory = amounts(items, "desiredMemory"),
    desiredGPU = devices(items, "desiredGPU"),
    desiredTPU = devices(items, "desiredTPU"),
    lastUpdateTime = status.latest(items, "lastUpdateTime"),
    endpoints = status.values(items, "endpoints")[1],
    head = status.values(items, "head")[1],
  }
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
  return own
end

function AggregateStatus(desiredObj, statusItems)
  return ray.aggregate(desiredObj, statusItems, combine)
end
