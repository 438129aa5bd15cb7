local FIELDS = {
  "conditions", "url", "address", "components", "modelStatus", "observedGeneration"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
