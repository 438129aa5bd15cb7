local RANK = {Healthy = 1, Progressing = 2, Paused = 3, Degraded = 4}

function AggregateStatus(desiredObj, statusItems)
  if statusItems == nil then
    return desiredObj
  end
  local generation = (desiredObj.metadata or {}).generation or 0
  local own = {conditions = conditions.merge(statusItems)}
  status.sums(own, statusItems, {
    "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "HPAReplicas",
  })
  local seen, worst = true, 0
  for _, item in ipairs(statusItems) do
    local one = item.status or {}
    local looked = tonumber(one.observedGeneration)
    if one.resourceTemplateGeneration ~= generation or looked == nil or looked ~= one.generation then
      seen = false
    end
    local rank = RANK[one.phase or ""] or 0
    if rank > worst then
      worst, own.phase = rank, one.phase
      own.message = one.message ~= nil and item.clusterName .. "=" .. one.message or nil
    end
  end
  -- Texts, as the controller of the kind writes them.
  own.observedGeneration = seen and tostring(generation) or (desiredObj.status or {}).observedGeneration
  desiredObj.status = own
  return desiredObj
end
