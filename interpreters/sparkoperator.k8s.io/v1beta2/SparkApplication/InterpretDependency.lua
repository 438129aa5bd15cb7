function GetDependencies(desiredObj)
  return spark.dependencies(desiredObj, desiredObj.spec)
end
