function GetDependencies(desiredObj)
  local templates = {}
  for i, part in ipairs(kserve.parts(desiredObj)) do
    templates[i] = part.template
  end
  local volumes = {}
  for i, claim in ipairs(kserve.claims(desiredObj)) do
    volumes[i] = {name = "model-" .. i, persistentVolumeClaim = {claimName = claim}}
  end
  templates[#templates + 1] = {spec = {volumes = volumes}}
  return pods.dependencies(desiredObj, templates)
end
