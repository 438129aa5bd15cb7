local FIELDS = {
  "conditions", "observedGeneration", "artifact", "url", "observedIgnore", "observedLayerSelector"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
