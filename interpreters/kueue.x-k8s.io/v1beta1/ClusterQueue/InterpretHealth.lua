-- A queue that somebody stopped is as it should be, though not active.
function InterpretHealth(observedObj)
  local policy = (observedObj.spec or {}).stopPolicy or "None"
  return policy ~= "None" or report.healthy(observedObj, "Active")
end
