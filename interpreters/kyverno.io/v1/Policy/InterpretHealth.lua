function InterpretHealth(observedObj)
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
