function GetDependencies(desiredObj)
  return pods.dependencies(desiredObj, (ray.templates(desiredObj.spec.rayClusterConfig or {})))
end
