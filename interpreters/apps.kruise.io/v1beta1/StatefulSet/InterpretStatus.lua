local FIELDS = {
  "replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas",
  "updatedReadyReplicas", "updateRevision", "currentRevision", "observedGeneration"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
