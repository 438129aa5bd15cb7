local FIELDS = {
  "conditions", "listeners", "clusterId", "kafkaVersion", "observedGeneration"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
