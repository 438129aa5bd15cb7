function AggregateStatus(desiredObj, statusItems)
  return report.aggregate(desiredObj, statusItems, {
    last = {"clusterId", "kafkaVersion"},
  })
end
