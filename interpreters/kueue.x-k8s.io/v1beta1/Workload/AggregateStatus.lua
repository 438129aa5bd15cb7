function AggregateStatus(desiredObj, statusItems)
  return report.aggregate(desiredObj, statusItems, {
    last = {"admission", "requeueState"},
  })
end
