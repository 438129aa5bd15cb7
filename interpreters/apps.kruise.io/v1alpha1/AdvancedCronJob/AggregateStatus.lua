function AggregateStatus(desiredObj, statusItems)
  if statusItems == nil then
    return desiredObj
  end
  desiredObj.status = {
    active = status.concat(statusItems, "active"),
    type = status.last(statusItems, "type", ""),
    lastScheduleTime = status.last(statusItems, "lastScheduleTime", nil),
  }
  return desiredObj
end
