function AggregateStatus(desiredObj, statusItems)
  return report.aggregate(desiredObj, statusItems, {
    last = {"triggersTypes", "authenticationsTypes"},
    latest = {"lastActiveTime"},
  })
end
