function AggregateStatus(desiredObj, statusItems)
  local old = statusItems ~= nil and desiredObj.status or {}
  return flux.aggregate(desiredObj, statusItems, {
    lastAttemptedRevision = old.lastAttemptedRevision or "",
    lastAppliedRevision = old.lastAppliedRevision or "",
  })
end
