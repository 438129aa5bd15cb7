local FIELDS = {"conditions", "restarts", "restartsCountTowardsMax", "terminalState", "replicatedJobsStatus"}

function ReflectStatus(observedObj)
  return status.pick(observedObj.status, FIELDS)
end
