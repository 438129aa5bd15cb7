function InterpretHealth(observedObj)
  local own = observedObj.status or {}
  if (own.observedGeneration or 0) ~= (observedObj.metadata.generation or 0) then
    return false
  end
  local updated = own.updatedNumberScheduled or 0
  return updated >= (own.desiredNumberScheduled or 0) and (own.numberAvailable or 0) >= updated
end
