function AggregateStatus(desiredObj, statusItems)
  return jobs.aggregate(desiredObj, statusItems, {"Worker"})
end
