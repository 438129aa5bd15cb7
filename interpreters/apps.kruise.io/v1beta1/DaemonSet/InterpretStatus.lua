local FIELDS = {
  "currentNumberScheduled", "desiredNumberScheduled", "updatedNumberScheduled", "numberMisscheduled",
  "numberReady", "numberAvailable", "numberUnavailable", "updateRevision", "observedGeneration"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
