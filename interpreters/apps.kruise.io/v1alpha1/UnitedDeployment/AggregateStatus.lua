local SUMS = {
  "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"
}

function AggregateStatus(desiredObj, statusItems)
  local own, items = gate.open(desiredObj, statusItems, true)
  status.sums(own, items, SUMS)
  if statusItems == nil then
    return desiredObj
  end
  local conditions, place = {}, {}
  for _, condition in ipairs(status.concat(items, "conditions")) do
    local at = place[condition.type] or #conditions + 1
    place[condition.type] = at
    conditions[at] = condition
  end
  if #conditions > 0 then
    own.conditions = conditions
  end
  return desiredObj
end
