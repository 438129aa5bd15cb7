-- The operator makes no workers unless told how many, but always one launcher.
function GetComponents(desiredObj)
  local specs, names, all = (desiredObj.spec or {}).mpiReplicaSpecs or {}, {}, {}
  for name in pairs(specs) do
    names[#names + 1] = name
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local spec = specs[name]
    if spec.template ~= nil then
      local replicas = tonumber(spec.replicas) or (string.lower(name) == "worker" and 0 or 1)
      all[#all + 1] = pods.component(name, replicas, spec.template)
    end
  end
  return all
end
