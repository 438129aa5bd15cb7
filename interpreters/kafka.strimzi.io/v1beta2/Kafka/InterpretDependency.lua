function GetDependencies(desiredObj)
  return kafka.dependencies(desiredObj)
end
