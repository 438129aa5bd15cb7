function Retain(desiredObj, observedObj)
  return flux.retain(desiredObj, observedObj)
end
