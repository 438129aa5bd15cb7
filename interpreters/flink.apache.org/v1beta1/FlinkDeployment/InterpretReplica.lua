-- As one number: every replica is taken to be as large as the larger of the two roles.
function GetReplicas(desiredObj)
  local spec = desiredObj.spec or {}
  local one, other = flink.requirements(spec, "jobManager"), flink.requirements(spec, "taskManager")
  local request, first, second = {}, one.resourceRequest, other.resourceRequest
  for _, name in ipairs({"cpu", "memory"}) do
    request[name] = first[name]
    if request[name] == nil or second[name] ~= nil and second[name] > request[name] then
      request[name] = second[name]
    end
  end
  local result = flink.placement((spec.podTemplate or {}).spec or {})
  result.resourceRequest = request
  result.namespace = desiredObj.metadata.namespace
  return flink.job_managers(spec) + flink.task_managers(spec), result
end
