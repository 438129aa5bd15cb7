-- Newer versions say how it is; of older ones it is known how many pods there are to be.
function InterpretHealth(observedObj)
  local own, wanted = observedObj.status or {}, observedObj.spec.instances or 1
  if own.phase ~= nil then
    return own.phase == "active" or own.phase == "paused" or (own.phase == "inactive" and wanted == 0)
  end
  return own.instances == wanted
end
