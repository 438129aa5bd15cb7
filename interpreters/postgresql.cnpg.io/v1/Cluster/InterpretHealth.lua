-- During a switch-over the phase changes before the condition does.
function InterpretHealth(observedObj)
  local own = observedObj.status or {}
  if own.phase ~= nil and own.phase ~= "Cluster in healthy state" then
    return false
  end
  return report.healthy(observedObj, "Ready")
end
