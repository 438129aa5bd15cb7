-- A restart asked for in the cluster stays.
function Retain(desiredObj, observedObj)
  if desiredObj.spec.restartAt == nil then
    desiredObj.spec.restartAt = observedObj.spec.restartAt
  end
  return workload.retain(desiredObj, observedObj)
end
