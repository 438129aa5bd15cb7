function AggregateStatus(desiredObj, statusItems)
  if statusItems == nil then
    return desiredObj
  end
  if #statusItems == 1 then
    desiredObj.status = statusItems[1].status
    return desiredObj
  end
  local own = {}
  status.sums(own, statusItems, {"restarts", "restartsCountTowardsMax"})
  own.replicatedJobsStatus = sets.counts(statusItems, "replicatedJobsStatus")
  local failed, completed = sets.outcome(statusItems, "Completed")
  own.conditions = sets.conditions("JobSet", failed, completed, "Completed")
  own.terminalState = #failed > 0 and "Failed" or completed and "Completed" or nil
  desiredObj.status = own
  return desiredObj
end
