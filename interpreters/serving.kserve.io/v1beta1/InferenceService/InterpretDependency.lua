function GetDependencies(desiredObj)
  local templates = {}
  for i, part in ipairs(kserve.parts(desiredObj)) do
    templates[i] = part.template
  end
  return pods.dependencies(desiredObj, templates)
end
