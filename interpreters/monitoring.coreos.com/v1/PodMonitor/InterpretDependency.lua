-- The credentials with which metrics are asked for.
function GetDependencies(desiredObj)
  local all, refer = pods.references(desiredObj)
  for _, endpoint in ipairs((desiredObj.spec or {}).podMetricsEndpoints or {}) do
    monitoring.client(refer, endpoint)
  end
  return all
end
