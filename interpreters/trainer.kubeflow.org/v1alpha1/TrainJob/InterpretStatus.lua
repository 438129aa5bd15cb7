local FIELDS = {"conditions", "jobsStatus", "trainerStatus"}

function ReflectStatus(observedObj)
  return status.pick(observedObj.status, FIELDS)
end
