local FIELDS = {
  "conditions", "observedGeneration", "artifact", "url"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
