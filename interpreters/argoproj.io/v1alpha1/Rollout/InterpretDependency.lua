function GetDependencies(desiredObj)
  if desiredObj.spec.template == nil then
    return {}
  end
  return pods.dependencies(desiredObj, {desiredObj.spec.template})
end
