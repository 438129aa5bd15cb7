function GetComponents(desiredObj)
  local spec = desiredObj.spec or {}
  return {
    {
      name = "jobmanager", replicas = flink.job_managers(spec),
      replicaRequirements = flink.requirements(spec, "jobManager"),
    },
    {
      name = "taskmanager", replicas = flink.task_managers(spec),
      replicaRequirements = flink.requirements(spec, "taskManager"),
    },
  }
end
