function AggregateStatus(desiredObj, statusItems)
  return report.aggregate(desiredObj, statusItems, {
    sum = {"instances", "readyInstances"},
    last = {"phase", "phaseReason", "currentPrimary"},
  })
end
