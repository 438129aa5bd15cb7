function InterpretHealth(observedObj)
  return kyverno.healthy(observedObj)
end
