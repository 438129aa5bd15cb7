-- A queue in the cluster suspends and resumes it.
function Retain(desiredObj, observedObj)
  if observedObj.spec.suspend ~= nil then
    desiredObj.spec.suspend = observedObj.spec.suspend
  end
  return desiredObj
end
