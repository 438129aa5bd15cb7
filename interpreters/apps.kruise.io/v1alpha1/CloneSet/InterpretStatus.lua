local FIELDS = {
  "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "updatedReadyReplicas",
  "expectedUpdatedReplicas", "updateRevision", "currentRevision", "labelSelector", "observedGeneration"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
