function ReflectStatus(observedObj)
  return status.pick(observedObj.status, {"ready", "conditions", "autogen", "rulecount"})
end
