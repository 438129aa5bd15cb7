function AggregateStatus(desiredObj, statusItems)
  return report.aggregate(desiredObj, statusItems, {
    last = {"scaleTargetKind", "hpaName", "triggersTypes", "authenticationsTypes"},
    sum = {"originalReplicaCount"},
    latest = {"lastActiveTime"},
  })
end
