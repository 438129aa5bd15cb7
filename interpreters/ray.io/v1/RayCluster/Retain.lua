-- Ray's autoscaler writes the size of a group, and which of its workers go, into the spec.
local function scaled(desired, observed)
  local groups = {}
  for _, group in ipairs(observed.workerGroupSpecs or {}) do
    groups[group.groupName or ""] = group
  end
  for _, group in ipairs(desired.workerGroupSpecs or {}) do
    local own = groups[group.groupName or ""]
    if own ~= nil then
      group.replicas = own.replicas
      group.scaleStrategy = own.scaleStrategy
    end
  end
end

function Retain(desiredObj, observedObj)
  local spec = desiredObj.spec or {}
  if spec.enableInTreeAutoscaling then
    scaled(spec, observedObj.spec or {})
  end
  queue.retain(observedObj, desiredObj.spec, observedObj.spec)
  return desiredObj
end
