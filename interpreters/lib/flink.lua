-- The two roles of a Flink cluster.
local kube = require("kube")
flink = {}

function flink.job_managers(spec)
  return tonumber((spec.jobManager or {}).replicas) or 1
end

-- As many as the parallelism needs slots, unless told.
function flink.task_managers(spec)
  local told = tonumber((spec.taskManager or {}).replicas)
  if told ~= nil then
    return told
  end
  local parallelism = (spec.job or {}).parallelism
  local slots = tonumber((spec.flinkConfiguration or {})["taskmanager.numberOfTaskSlots"])
  if parallelism == nil or slots == nil or slots == 0 then
    return 1
  end
  return math.ceil(parallelism / slots)
end

-- Where the pods may run, and their priority.
function flink.placement(pod)
  local result = {priorityClassName = pod.priorityClassName}
  if pod.nodeSelector ~= nil or pod.tolerations ~= nil then
    result.nodeClaim = {nodeSelector = flink.clone(pod.nodeSelector), tolerations = flink.clone(pod.tolerations)}
  end
  return result
end

-- Amounts of a role: of newer versions as a container has them, where a request that is not there is as large as its
-- limit; else the two that older versions know. Processors and memory are numbers, to be compared.
local function amounts(role)
  local resources, old, found = role.resources or {}, role.resource or {}, {}
  for _, list in ipairs({resources.limits or {}, resources.requests or {}}) do
    for name, amount in pairs(list) do
      found[name] = amount
    end
  end
  if next(found) == nil then
    found = {cpu = old.cpu, memory = old.memory}
  end
  for _, name in ipairs({"cpu", "memory"}) do
    if type(found[name]) == "string" then
      found[name] = kube.getResourceQuantity(found[name])
    end
  end
  return found
end

function flink.requirements(spec, role)
  local result = flink.placement((spec.podTemplate or {}).spec or {})
  result.resourceRequest = amounts(spec[role] or {})
  return result
end

-- One table must not stand in two places of an answer.
function flink.clone(value)
  if type(value) ~= "table" then
    return value
  end
  local copy = {}
  for name, child in pairs(value) do
    copy[name] = flink.clone(child)
  end
  return copy
end
