local FIELDS = {
  "minAvailable", "pending", "running", "succeeded", "failed", "terminating", "unknown", "version",
  "retryCount", "runningDuration", "taskStatusCount", "controlledResources", "state", "conditions"
}

function ReflectStatus(observedObj)
  return status.pick(observedObj.status, FIELDS)
end
