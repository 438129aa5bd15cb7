local SUMS = {
  "replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas",
  "updatedReadyReplicas"
}
local LAST = {
  "updateRevision", "currentRevision"
}

function AggregateStatus(desiredObj, statusItems)
  local own, items = gate.open(desiredObj, statusItems)
  status.sums(own, items, SUMS)
  for _, field in ipairs(LAST) do
    own[field] = status.last(items, field, "")
  end
  return desiredObj
end
