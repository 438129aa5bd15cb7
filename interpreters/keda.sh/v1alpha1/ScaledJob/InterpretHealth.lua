function InterpretHealth(observedObj)
  return report.healthy(observedObj, "Ready")
end
