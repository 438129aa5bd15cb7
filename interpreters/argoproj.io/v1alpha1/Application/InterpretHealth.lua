-- What it delivers is healthy, or rests on purpose, and its last delivery did not fail.
function InterpretHealth(observedObj)
  local own = observedObj.status or {}
  local health = (own.health or {}).status
  local last = (own.operationState or {}).phase
  return (health == "Healthy" or health == "Suspended") and last ~= "Failed" and last ~= "Error"
end
