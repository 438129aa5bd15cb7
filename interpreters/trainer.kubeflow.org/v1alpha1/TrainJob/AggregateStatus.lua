function AggregateStatus(desiredObj, statusItems)
  if statusItems == nil then
    return desiredObj
  end
  if #statusItems == 1 then
    desiredObj.status = statusItems[1].status
    return desiredObj
  end
  local failed, complete = sets.outcome(statusItems, "Complete")
  desiredObj.status = {
    jobsStatus = sets.counts(statusItems, "jobsStatus"),
    conditions = sets.conditions("TrainJob", failed, complete, "Complete"),
  }
  return desiredObj
end
