local FIELDS = {
  "conditions", "observedGeneration", "lastAttemptedRevision", "lastAppliedRevision"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
