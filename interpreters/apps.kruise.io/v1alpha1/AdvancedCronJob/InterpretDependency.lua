-- One of the two kinds of job is given; the broadcast job wins if both are.
function GetDependencies(desiredObj)
  local job = desiredObj.spec.template.broadcastJobTemplate or desiredObj.spec.template.jobTemplate
  if job == nil then
    return {}
  end
  return pods.dependencies(desiredObj, {job.spec.template})
end
