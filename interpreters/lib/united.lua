-- A workload of several subsets, each of them a workload of one of four kinds. Needs workload.lua.
united = {}

local KINDS = {"statefulSetTemplate", "advancedStatefulSetTemplate", "cloneSetTemplate", "deploymentTemplate"}

-- The pod template: that of the kind of its subsets, or one that stands there at once.
function united.template(object)
  local template = object.spec.template
  for _, kind in ipairs(KINDS) do
    local subset = (template or {})[kind]
    if subset ~= nil then
      return (subset.spec or {}).template
    end
  end
  return template
end

-- Its controller counts new replicas that are ready, not those that are available.
function united.healthy(object)
  local own = object.status
  if own.availableReplicas == nil then
    own.availableReplicas = own.updatedReadyReplicas
  end
  return workload.healthy(object)
end
