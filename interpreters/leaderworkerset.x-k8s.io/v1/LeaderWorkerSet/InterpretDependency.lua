-- A claim template takes the place of the volume with its name.
local function with_claims(template, claims)
  local made = {}
  for _, claim in ipairs(claims or {}) do
    made[(claim.metadata or {}).name or ""] = true
  end
  local spec = {}
  for name, value in pairs(template.spec or {}) do
    spec[name] = value
  end
  spec.volumes = {}
  for _, volume in ipairs((template.spec or {}).volumes or {}) do
    if not made[volume.name] then
      spec.volumes[#spec.volumes + 1] = volume
    end
  end
  return {spec = spec}
end

function GetDependencies(desiredObj)
  local group = desiredObj.spec.leaderWorkerTemplate
  local templates = {with_claims(group.workerTemplate, group.volumeClaimTemplates)}
  if group.leaderTemplate ~= nil then
    templates[2] = with_claims(group.leaderTemplate, group.volumeClaimTemplates)
  end
  return pods.dependencies(desiredObj, templates)
end
