function InterpretHealth(observedObj)
  local own = observedObj.status or {}
  return own.jobDeploymentStatus == "Running"
    or (own.jobDeploymentStatus == "Complete" and own.jobStatus == "SUCCEEDED")
end
