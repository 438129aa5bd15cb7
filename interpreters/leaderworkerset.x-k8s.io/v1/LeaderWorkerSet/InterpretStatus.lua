local FIELDS = {
  "conditions", "replicas", "readyReplicas", "updatedReplicas", "hpaPodSelector", "observedGeneration"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
