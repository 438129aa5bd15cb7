-- What no copy reports keeps its old value; failures count on from it.
function AggregateStatus(desiredObj, statusItems)
  local old = statusItems ~= nil and desiredObj.status or {}
  flux.aggregate(desiredObj, statusItems, {
    lastAttemptedRevision = old.lastAttemptedRevision or "",
    lastAppliedRevision = old.lastAppliedRevision or "",
    lastAttemptedValuesChecksum = old.lastAttemptedValuesChecksum or "",
    helmChart = old.helmChart or "",
    lastReleaseRevision = old.lastReleaseRevision or "",
  })
  local own = desiredObj.status
  for _, field in ipairs({"failures", "upgradeFailures", "installFailures"}) do
    if own[field] ~= nil then
      own[field] = statusItems ~= nil and own[field] + status.sum(statusItems, field) or 0
    end
  end
  return desiredObj
end
