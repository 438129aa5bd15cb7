-- Head and workers as one number: every replica is taken to be as large as the largest of them.
local kube = require("kube")

function GetReplicas(desiredObj)
  local cluster = (desiredObj.spec or {}).rayClusterConfig or {}
  local head = (cluster.headGroupSpec or {}).template
  if head == nil then
    return 0, nil
  end
  local replicas, requirements = 1, pods.requirements(head)
  for _, group in ipairs(cluster.workerGroupSpecs or {}) do
    replicas = replicas + (group.replicas or 0)
    local request = (pods.requirements(group.template) or {}).resourceRequest or {}
    for _, name in ipairs({"cpu", "memory"}) do
      if request[name] ~= nil then
        requirements = requirements or {}
        requirements.resourceRequest = requirements.resourceRequest or {}
        local largest = requirements.resourceRequest[name]
        if largest == nil or kube.getResourceQuantity(request[name]) > kube.getResourceQuantity(largest) then
          requirements.resourceRequest[name] = request[name]
        end
      end
    end
  end
  return replicas, requirements
end
