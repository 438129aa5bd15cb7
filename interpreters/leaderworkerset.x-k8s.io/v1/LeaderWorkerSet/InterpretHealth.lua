function InterpretHealth(observedObj)
  return report.healthy(observedObj, "Available")
end
