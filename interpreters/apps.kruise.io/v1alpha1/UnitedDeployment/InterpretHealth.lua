function InterpretHealth(observedObj)
  if observedObj.status == nil or observedObj.metadata == nil or observedObj.spec == nil then
    return false
  end
  return united.healthy(observedObj)
end
