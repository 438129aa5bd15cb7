function InterpretHealth(observedObj)
  return gateway.attached(observedObj)
end
