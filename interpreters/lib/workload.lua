-- Kinds that look like a Deployment: `spec.replicas`, `spec.template`, counters in the status.
-- Needs status.lua and pods.lua.
workload = {}

function workload.replicas(object)
  return object.spec.replicas or 1, pods.requirements(object.spec.template)
end

function workload.revise(object, replicas)
  object.spec.replicas = replicas
  return object
end

-- An autoscaler in the cluster has the number where the label leaves it to it.
function workload.retain(desired, observed)
  local labels = desired.metadata.labels or {}
  if labels["resourcetemplate.karmada.io/retain-replicas"] == "true" and (observed.spec or {}).replicas ~= nil then
    desired.spec.replicas = observed.spec.replicas
  end
  return desired
end

-- All replicas are of the newest revision, and available.
function workload.healthy(object)
  local spec, own = object.spec, object.status
  if own.observedGeneration ~= object.metadata.generation then
    return false
  end
  if spec.replicas ~= nil and own.updatedReplicas < spec.replicas then
    return false
  end
  return own.availableReplicas >= own.updatedReplicas
end
