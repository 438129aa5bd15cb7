function AggregateStatus(desiredObj, statusItems)
  return report.aggregate(desiredObj, statusItems, {
    last = {"scaleTargetKind", "hpaName"},
    sum = {"originalReplicaCount"},
    latest = {"lastActiveTime"},
  })
end
