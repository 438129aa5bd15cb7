function AggregateStatus(desiredObj, statusItems)
  return report.aggregate(desiredObj, statusItems, {
    sum = {"replicas"},
    last = {"clusterId", "roles", "labelSelector"},
  })
end
