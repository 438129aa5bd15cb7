function GetDependencies(desiredObj)
  return pods.dependencies(desiredObj, (ray.templates((desiredObj.spec or {}).rayClusterConfig or {})))
end
