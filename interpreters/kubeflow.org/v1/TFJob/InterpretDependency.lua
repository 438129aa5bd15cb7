function GetDependencies(desiredObj)
  return jobs.dependencies(desiredObj, (desiredObj.spec or {}).tfReplicaSpecs, {"PS", "Worker", "Chief", "Master", "Evaluator"})
end
