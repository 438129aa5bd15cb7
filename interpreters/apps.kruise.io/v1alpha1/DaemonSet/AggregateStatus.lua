local SUMS = {
  "currentNumberScheduled", "desiredNumberScheduled", "updatedNumberScheduled", "numberMisscheduled",
  "numberReady", "numberAvailable", "numberUnavailable"
}
local LAST = {
  "daemonSetHash"
}

function AggregateStatus(desiredObj, statusItems)
  local own, items = gate.open(desiredObj, statusItems)
  status.sums(own, items, SUMS)
  for _, field in ipairs(LAST) do
    own[field] = status.last(items, field, 0)
  end
  return desiredObj
end
