-- Policies of a namespace and of a cluster report alike. Needs status.lua, conditions.lua.
kyverno = {}

function kyverno.healthy(observedObj)
  local own = observedObj.status or {}
  if own.ready ~= nil then
    return own.ready
  end
  for _, condition in ipairs(own.conditions or {}) do
    if condition.type == "Ready" and condition.status == "True" and condition.reason == "Succeeded" then
      return true
    end
  end
  return false
end

function kyverno.reflect(observedObj)
  return status.pick(observedObj.status, {"ready", "conditions", "autogen", "rulecount"})
end

function kyverno.aggregate(desiredObj, statusItems)
  if statusItems == nil then
    return desiredObj
  end
  local autogens, readies = status.values(statusItems, "autogen"), status.values(statusItems, "ready")
  local counts = {validate = 0, generate = 0, mutate = 0, verifyimages = 0}
  for _, own in ipairs(status.values(statusItems, "rulecount")) do
    for name, count in pairs(counts) do
      counts[name] = count + (own[name] or 0)
    end
  end
  desiredObj.status = {
    autogen = autogens[#autogens],
    ready = readies[#readies],
    rulecount = counts,
    conditions = conditions.merge(statusItems),
  }
  return desiredObj
end
