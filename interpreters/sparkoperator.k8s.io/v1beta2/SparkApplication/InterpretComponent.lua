function GetComponents(desiredObj)
  local spec = desiredObj.spec
  return {
    {name = "driver", replicas = 1, replicaRequirements = spark.requirements(spec, spec.driver or {})},
    {
      name = "executor", replicas = spark.executors(spec),
      replicaRequirements = spark.requirements(spec, spec.executor or {}),
    },
  }
end
