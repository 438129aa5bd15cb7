function AggregateStatus(desiredObj, statusItems)
  return report.aggregate(desiredObj, statusItems, {
    last = {"url", "address", "latestCreatedRevisionName", "latestReadyRevisionName", "traffic"},
  })
end
