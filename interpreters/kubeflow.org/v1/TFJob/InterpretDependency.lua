function GetDependencies(desiredObj)
  return jobs.dependencies(desiredObj, desiredObj.spec.tfReplicaSpecs, {"PS", "Worker", "Chief", "Master", "Evaluator"})
end
