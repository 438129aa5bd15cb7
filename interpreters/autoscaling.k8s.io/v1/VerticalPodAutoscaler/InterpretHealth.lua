-- A recommendation takes its time, and nobody waits for it. What can never give one is broken.
function InterpretHealth(observedObj)
  return not status.is_true((observedObj.status or {}).conditions, "ConfigUnsupported")
end
