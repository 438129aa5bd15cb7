function ReflectStatus(observedObj)
  return kyverno.reflect(observedObj)
end
