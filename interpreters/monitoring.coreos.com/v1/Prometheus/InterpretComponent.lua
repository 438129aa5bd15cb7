-- Every shard has all replicas.
function GetComponents(desiredObj)
  local spec = desiredObj.spec or {}
  local count = (spec.replicas or 1) * (spec.shards or 1)
  return {pods.component("prometheus", count, monitoring.template(desiredObj, "prometheus"))}
end
