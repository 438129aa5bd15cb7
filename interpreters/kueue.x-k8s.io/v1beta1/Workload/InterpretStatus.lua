local FIELDS = {
  "conditions", "admission", "admissionChecks", "reclaimablePods", "requeueState"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
