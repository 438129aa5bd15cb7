function GetDependencies(desiredObj)
  local spec = desiredObj.spec or {}
  local templates = {{spec = {serviceAccountName = spec.serviceAccount}}}
  for _, part in ipairs({spec, spec.jobManager or {}, spec.taskManager or {}}) do
    templates[#templates + 1] = part.podTemplate
  end
  return pods.dependencies(desiredObj, templates)
end
