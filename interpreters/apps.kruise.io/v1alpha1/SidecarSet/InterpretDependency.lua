-- Only what the sidecars bring with them: the rest of the pod belongs to its own template.
function GetDependencies(desiredObj)
  local spec, containers, volumes = desiredObj.spec or {}, {}, {}
  for _, container in ipairs(spec.containers or {}) do
    containers[#containers + 1] = {name = container.name, env = container.env, envFrom = container.envFrom}
  end
  for _, volume in ipairs(spec.volumes or {}) do
    volumes[#volumes + 1] = {
      name = volume.name, configMap = volume.configMap, secret = volume.secret, projected = volume.projected,
    }
  end
  local all = pods.dependencies(desiredObj, {{spec = {containers = containers, volumes = volumes}}})
  -- The kind has no namespace, and so the reference has none.
  for _, one in ipairs(all) do
    one.namespace = desiredObj.metadata.namespace
  end
  return all
end
