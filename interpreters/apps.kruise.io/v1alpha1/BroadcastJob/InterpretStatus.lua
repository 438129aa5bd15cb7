local FIELDS = {
  "conditions", "startTime", "completionTime", "active", "succeeded", "failed", "desired", "phase"
}

function ReflectStatus(observedObj)
  return status.pick(observedObj.status, FIELDS)
end
