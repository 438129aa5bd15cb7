function ReflectStatus(observedObj)
  local own = observedObj.status or {}
  return {
    matchedPods = own.matchedPods or 0,
    updatedPods = own.updatedPods or 0,
    readyPods = own.readyPods or 0,
  }
end
