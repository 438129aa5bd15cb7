-- A service that an annotation stopped is as it should be, though not ready.
function InterpretHealth(observedObj)
  local stopped = (observedObj.metadata.annotations or {})["serving.kserve.io/stop"]
  return report.healthy(observedObj, "Ready") or (stopped ~= nil and string.lower(stopped) == "true")
end
