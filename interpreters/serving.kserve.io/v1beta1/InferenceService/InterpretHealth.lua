-- A service that somebody stopped is as it should be, though not ready.
function InterpretHealth(observedObj)
  return report.healthy(observedObj, "Ready") or report.healthy(observedObj, "Stopped")
end
