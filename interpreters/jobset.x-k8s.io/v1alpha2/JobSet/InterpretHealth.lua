-- While it runs it has no conditions.
function InterpretHealth(observedObj)
  return observedObj.status ~= nil and not status.is_true(observedObj.status.conditions, "Failed")
end
