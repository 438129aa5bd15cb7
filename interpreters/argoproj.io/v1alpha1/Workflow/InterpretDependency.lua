function GetDependencies(desiredObj)
  return argo.dependencies(desiredObj, desiredObj.spec)
end
