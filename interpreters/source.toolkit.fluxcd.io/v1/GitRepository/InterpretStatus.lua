local FIELDS = {
  "conditions", "observedGeneration", "artifact", "observedIgnore", "observedRecurseSubmodules"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
