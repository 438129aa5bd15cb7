function Retain(desiredObj, observedObj)
  return desiredObj
end
