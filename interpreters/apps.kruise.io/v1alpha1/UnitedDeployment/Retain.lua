function Retain(desiredObj, observedObj)
  return workload.retain(desiredObj, observedObj)
end
