local FIELDS = {
  "conditions", "url", "address", "latestCreatedRevisionName", "latestReadyRevisionName", "traffic",
  "observedGeneration"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
