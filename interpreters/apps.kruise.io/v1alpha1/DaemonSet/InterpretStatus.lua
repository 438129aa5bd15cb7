local FIELDS = {
  "currentNumberScheduled", "desiredNumberScheduled", "updatedNumberScheduled", "numberMisscheduled",
  "numberReady", "numberAvailable", "numberUnavailable", "daemonSetHash", "observedGeneration"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
