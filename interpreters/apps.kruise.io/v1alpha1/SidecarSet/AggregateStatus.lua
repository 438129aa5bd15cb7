function AggregateStatus(desiredObj, statusItems)
  local own = {}
  status.sums(own, statusItems or {}, {"matchedPods", "updatedPods", "readyPods"})
  desiredObj.status = own
  return desiredObj
end
