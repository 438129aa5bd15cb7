-- Kinds whose status is conditions and a few fields beside them. Needs status.lua, gate.lua, conditions.lua.
report = {}

-- `how`: lists of fields under `sum`, `last`, `earliest` and `latest`. Without clusters the status is left alone; a
-- single cluster speaks for itself.
function report.aggregate(desired, items, how)
  if items == nil then
    return desired
  end
  -- Many kinds say at which generation their controller looked, but not all.
  local gated = #status.values(items, "observedGeneration") > 0
  if gated then
    gate.open(desired, items)
  end
  local own = desired.status or {}
  desired.status = own
  if #items == 1 then
    desired.status = items[1].status or {}
    desired.status.observedGeneration = gated and own.observedGeneration or nil
    desired.status.generation, desired.status.resourceTemplateGeneration = nil, nil
    return desired
  end
  own.conditions = conditions.merge(items)
  status.sums(own, items, how.sum or {})
  for _, field in ipairs(how.last or {}) do
    own[field] = status.last(items, field, nil)
  end
  for _, field in ipairs(how.earliest or {}) do
    own[field] = status.earliest(items, field)
  end
  for _, field in ipairs(how.latest or {}) do
    own[field] = status.latest(items, field)
  end
  return desired
end

-- The condition is true, and the controller has looked at this generation if it says at which it looked: the status as a
-- whole does, or the condition.
function report.healthy(object, wanted)
  local own = object.status or {}
  local generation = object.metadata.generation
  if own.observedGeneration ~= nil and generation ~= nil and own.observedGeneration ~= generation then
    return false
  end
  local condition = status.condition(own.conditions, wanted)
  if condition == nil or condition.status ~= "True" then
    return false
  end
  local looked = condition.observedGeneration or 0
  return looked == 0 or generation == nil or looked >= generation
end
