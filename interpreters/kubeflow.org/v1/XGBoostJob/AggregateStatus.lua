function AggregateStatus(desiredObj, statusItems)
  return jobs.aggregate(desiredObj, statusItems, {"Master", "Worker"})
end
