-- It runs as it was told, or ended well, or rests because somebody said so. Older operators know nothing of its lifecycle.
function InterpretHealth(observedObj)
  local own, spec = observedObj.status or {}, observedObj.spec or {}
  if own.observedGeneration ~= nil and own.observedGeneration ~= observedObj.metadata.generation then
    return false
  end
  local state = (own.jobStatus or {}).state
  if own.lifecycleState == nil then
    return state == "RUNNING" or state == "FINISHED"
  elseif own.lifecycleState == "SUSPENDED" then
    return (spec.job or {}).state == "suspended"
  end
  return own.lifecycleState == "STABLE" and state ~= "FAILED"
end
