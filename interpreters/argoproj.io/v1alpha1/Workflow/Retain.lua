-- Status is no subresource here: to write the object without it would begin the workflow anew.
function Retain(desiredObj, observedObj)
  if observedObj.spec ~= nil and observedObj.spec.suspend ~= nil then
    desiredObj.spec.suspend = observedObj.spec.suspend
  end
  if observedObj.status ~= nil then
    desiredObj.status = observedObj.status
  end
  return desiredObj
end
