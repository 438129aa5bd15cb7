local FIELDS = {
  "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas",
  "observedGeneration", "conditions"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
