local FIELDS = {
  "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "HPAReplicas", "phase", "message",
  "currentPodHash", "stableRS", "conditions", "observedGeneration"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
