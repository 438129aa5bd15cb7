local SUMS = {
  "currentNumberScheduled", "desiredNumberScheduled", "updatedNumberScheduled", "numberMisscheduled",
  "numberReady", "numberAvailable", "numberUnavailable"
}

function AggregateStatus(desiredObj, statusItems)
  local own, items = gate.open(desiredObj, statusItems)
  status.sums(own, items, SUMS)
  own.updateRevision = status.last(items, "updateRevision", "")
  return desiredObj
end
