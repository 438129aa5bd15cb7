function GetDependencies(desiredObj)
  return pods.dependencies(desiredObj, {desiredObj.spec.template})
end
