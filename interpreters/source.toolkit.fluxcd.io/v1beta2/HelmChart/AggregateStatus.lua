function AggregateStatus(desiredObj, statusItems)
  return flux.aggregate(desiredObj, statusItems, {
    artifact = {},
    url = "",
    observedChartName = "",
    observedSourceArtifactRevision = "",
  })
end
