-- A restart asked for in the cluster stays, and so does the number of an autoscaler that the label leaves to it.
function Retain(desiredObj, observedObj)
  local labels = desiredObj.metadata.labels or {}
  if labels["resourcetemplate.karmada.io/retain-replicas"] == "true" then
    desiredObj.spec.replicas = observedObj.spec.replicas
  end
  if desiredObj.spec.restartAt == nil then
    desiredObj.spec.restartAt = observedObj.spec.restartAt
  end
  return desiredObj
end
