function GetComponents(desiredObj)
  return jobs.components(desiredObj.spec.tfReplicaSpecs, {"PS", "Worker", "Chief", "Master", "Evaluator"})
end
