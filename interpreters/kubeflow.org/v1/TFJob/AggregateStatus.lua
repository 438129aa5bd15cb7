function AggregateStatus(desiredObj, statusItems)
  return jobs.aggregate(desiredObj, statusItems, {"PS", "Worker", "Chief", "Master", "Evaluator"})
end
