local FIELDS = {
  "conditions", "observedGeneration", "artifact", "url", "observedChartName",
  "observedSourceArtifactRevision"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
