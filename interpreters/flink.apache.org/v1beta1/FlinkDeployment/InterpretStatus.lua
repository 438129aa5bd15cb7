local FIELDS = {
  "clusterInfo", "error", "jobManagerDeploymentStatus", "jobStatus", "lifecycleState", "observedGeneration",
  "reconciliationStatus", "taskManager"
}

function ReflectStatus(observedObj)
  return status.pick(observedObj.status, FIELDS)
end
