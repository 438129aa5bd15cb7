function GetDependencies(desiredObj)
  return pods.dependencies(desiredObj, {kafka.pool(desiredObj)})
end
