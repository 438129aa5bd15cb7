-- Pod templates: what they ask for and what they need beside them.
local kube = require("kube")
pods = {}

-- A component `{name, replicas, replicaRequirements?}`.
function pods.component(name, replicas, template)
  local component = {name = name, replicas = replicas}
  if template ~= nil then
    component.replicaRequirements = kube.accuratePodRequirements(template)
  end
  return component
end

function pods.requirements(template)
  if template == nil then
    return nil
  end
  return kube.accuratePodRequirements(template)
end

-- What the templates refer to, each object once.
function pods.dependencies(object, templates)
  local all, seen = {}, {}
  for _, template in ipairs(templates) do
    for _, one in ipairs(kube.getPodDependencies(template, object.metadata.namespace) or {}) do
      local key = one.kind .. "/" .. (one.namespace or "") .. "/" .. one.name
      if not seen[key] then
        seen[key] = true
        all[#all + 1] = one
      end
    end
  end
  return all
end

-- References to objects of group "", named one by one.
function pods.references(object)
  local all, seen = {}, {}
  return all, function(kind, name)
    if name ~= nil and name ~= "" and not seen[kind .. "/" .. name] then
      seen[kind .. "/" .. name] = true
      all[#all + 1] = {apiVersion = "v1", kind = kind, namespace = object.metadata.namespace, name = name}
    end
  end
end
