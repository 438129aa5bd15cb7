function ReflectStatus(observedObj)
  local own = observedObj.status
  if own == nil then
    return {}
  end
  return {
    matchedPods = own.matchedPods or 0,
    updatedPods = own.updatedPods or 0,
    readyPods = own.readyPods or 0,
  }
end
