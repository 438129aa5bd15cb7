function AggregateStatus(desiredObj, statusItems)
  return report.aggregate(desiredObj, statusItems, {
    sum = {"replicas", "readyReplicas", "updatedReplicas"},
    last = {"hpaPodSelector"},
  })
end
