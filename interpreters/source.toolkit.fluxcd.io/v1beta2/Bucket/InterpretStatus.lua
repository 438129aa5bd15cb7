local FIELDS = {
  "conditions", "observedGeneration", "artifact", "url", "observedIgnore"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
