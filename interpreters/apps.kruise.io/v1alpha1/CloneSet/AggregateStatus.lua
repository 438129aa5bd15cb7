local SUMS = {
  "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "updatedReadyReplicas",
  "expectedUpdatedReplicas"
}
local LAST = {
  "updateRevision", "currentRevision", "labelSelector"
}

function AggregateStatus(desiredObj, statusItems)
  local own, items = gate.open(desiredObj, statusItems)
  status.sums(own, items, SUMS)
  if statusItems ~= nil then
    for _, field in ipairs(LAST) do
      own[field] = status.last(items, field, "")
    end
  end
  return desiredObj
end
