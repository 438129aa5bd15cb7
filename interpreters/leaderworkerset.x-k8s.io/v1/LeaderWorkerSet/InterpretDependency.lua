function GetDependencies(desiredObj)
  local group = desiredObj.spec.leaderWorkerTemplate
  local templates = {group.workerTemplate}
  if group.leaderTemplate ~= nil then
    templates[2] = group.leaderTemplate
  end
  return pods.dependencies(desiredObj, templates)
end
