local FIELDS = {"conditions", "observedGeneration", "nodeIds", "clusterId", "roles", "replicas", "labelSelector"}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
