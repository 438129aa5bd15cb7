-- What no copy reports keeps its old value; failures count on from it.
function AggregateStatus(desiredObj, statusItems)
  flux.continue(desiredObj, statusItems, {
    "lastAttemptedRevision", "lastAppliedRevision", "lastAttemptedValuesChecksum", "helmChart", "lastReleaseRevision",
  })
  local own = desiredObj.status
  for _, field in ipairs({"failures", "upgradeFailures", "installFailures"}) do
    if own[field] ~= nil then
      own[field] = statusItems ~= nil and own[field] + status.sum(statusItems, field) or 0
    end
  end
  return desiredObj
end
