function InterpretHealth(observedObj)
  local own = observedObj.status or {}
  if own.desired == 0 or own.failed ~= 0 then
    return false
  end
  return not (own.succeeded == 0 and own.active == 0)
end
