-- A replica is a group of pods: a leader and `size - 1` workers, mostly on different nodes. What one replica asks for
-- is what its largest pod asks for, because no node has to hold the whole group.
local kube = require("kube")

function GetReplicas(desiredObj)
  local group = desiredObj.spec.leaderWorkerTemplate
  local requirements = pods.requirements(group.workerTemplate)
  local leader = group.leaderTemplate ~= nil and pods.requirements(group.leaderTemplate) or nil
  for name, amount in pairs((leader or {}).resourceRequest or {}) do
    requirements = requirements or {}
    requirements.resourceRequest = requirements.resourceRequest or {}
    local largest = requirements.resourceRequest[name]
    if largest == nil or kube.getResourceQuantity(amount) > kube.getResourceQuantity(largest) then
      requirements.resourceRequest[name] = amount
    end
  end
  return desiredObj.spec.replicas or 1, requirements
end
