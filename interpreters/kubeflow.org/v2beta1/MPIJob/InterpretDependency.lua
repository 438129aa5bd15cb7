function GetDependencies(desiredObj)
  local specs, roles = (desiredObj.spec or {}).mpiReplicaSpecs, {}
  for role in pairs(specs or {}) do
    roles[#roles + 1] = role
  end
  table.sort(roles)
  return jobs.dependencies(desiredObj, specs, roles)
end
