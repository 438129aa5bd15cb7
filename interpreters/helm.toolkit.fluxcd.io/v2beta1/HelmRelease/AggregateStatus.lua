-- What no copy reports keeps its old value; failures count on from it.
function AggregateStatus(desiredObj, statusItems)
  flux.continue(desiredObj, statusItems, {
    "lastAttemptedRevision", "lastAppliedRevision", "lastAttemptedValuesChecksum", "helmChart", "lastReleaseRevision",
  })
  local own = desiredObj.status
  for _, field in ipairs({"failures", "upgradeFailures", "installFailures"}) do
    if statusItems == nil then
      own[field] = 0
    elseif own[field] ~= nil then
      own[field] = own[field] + status.sum(statusItems, field)
    end
  end
  return desiredObj
end
