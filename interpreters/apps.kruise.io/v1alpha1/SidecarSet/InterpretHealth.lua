function InterpretHealth(observedObj)
  local own = observedObj.status
  if own == nil then
    return false
  end
  local matched = own.matchedPods or 0
  return matched == 0 or matched == (own.updatedPods or 0)
end
