function AggregateStatus(desiredObj, statusItems)
  return flux.continue(desiredObj, statusItems, {"lastAttemptedRevision", "lastAppliedRevision"})
end
