function GetDependencies(desiredObj)
  local templates = {}
  for _, job in ipairs(desiredObj.spec.replicatedJobs or {}) do
    local spec = (job.template or {}).spec or {}
    templates[#templates + 1] = spec.template
  end
  return pods.dependencies(desiredObj, templates)
end
