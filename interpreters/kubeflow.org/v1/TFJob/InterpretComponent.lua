function GetComponents(desiredObj)
  return jobs.components((desiredObj.spec or {}).tfReplicaSpecs, {"PS", "Worker", "Chief", "Master", "Evaluator"})
end
