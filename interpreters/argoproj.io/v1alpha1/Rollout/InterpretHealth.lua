-- Paused is on purpose: a step waits for a person or for time. observedGeneration is a text here.
function InterpretHealth(observedObj)
  local own = observedObj.status or {}
  if tonumber(own.observedGeneration) ~= observedObj.metadata.generation then
    return false
  end
  return own.phase == "Healthy" or own.phase == "Paused"
end
