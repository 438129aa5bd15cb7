function ReflectStatus(observedObj)
  if observedObj.status == nil then
    return {}
  end
  local own = status.pick(observedObj.status, {"readyReplicas", "containerState", "conditions"})
  own.readyReplicas = own.readyReplicas or 0
  return own
end
