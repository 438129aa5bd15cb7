local FIELDS = {
  "applicationState", "driverInfo", "executorState", "sparkApplicationId", "submissionID",
  "submissionAttempts", "executionAttempts", "lastSubmissionAttemptTime", "terminationTime"
}

function ReflectStatus(observedObj)
  return status.pick(observedObj.status, FIELDS)
end
