-- Gateways and routes of the Gateway API: conditions are about a generation each, and a route has them for every parent.
-- Needs status.lua.
gateway = {}

local GROUP = "gateway.networking.k8s.io"

-- The condition is true, and about this generation.
function gateway.is_true(object, conditions, wanted)
  local found = status.condition(conditions, wanted)
  local generation = object.metadata.generation
  return found ~= nil and found.status == "True"
    and (found.observedGeneration == nil or generation == nil or found.observedGeneration >= generation)
end

-- A parent by all that names it, with the defaults of the API.
local function key(object, ref)
  return table.concat({
    ref.group or GROUP, ref.kind or "Gateway", ref.namespace or object.metadata.namespace or "", ref.name or "",
    ref.sectionName or "", tostring(ref.port or ""),
  }, "/")
end

-- Every parent has accepted the route and found what it leads to.
function gateway.attached(object)
  local told = {}
  for _, parent in ipairs((object.status or {}).parents or {}) do
    local name = key(object, parent.parentRef or {})
    local good = gateway.is_true(object, parent.conditions, "Accepted")
      and gateway.is_true(object, parent.conditions, "ResolvedRefs")
    told[name] = good and told[name] ~= false
  end
  for _, ref in ipairs((object.spec or {}).parentRefs or {}) do
    if not told[key(object, ref)] then
      return false
    end
  end
  return true
end

-- References to objects of group "" that may lie in another namespace, each once. `kind`: what they are unless told.
function gateway.references(object)
  local all, seen = {}, {}
  return all, function(kind, ref)
    local name, space = ref.name, ref.namespace or object.metadata.namespace
    kind = ref.kind or kind
    if name == nil or (ref.group or "") ~= "" or seen[kind .. "/" .. (space or "") .. "/" .. name] then
      return
    end
    seen[kind .. "/" .. (space or "") .. "/" .. name] = true
    all[#all + 1] = {apiVersion = "v1", kind = kind, namespace = space, name = name}
  end
end

-- The Services that a route leads to, and those that get a copy of its requests or are asked about them.
function gateway.backends(object)
  local all, refer = gateway.references(object)
  local function filters(list)
    for _, filter in ipairs(list or {}) do
      for _, name in ipairs({"requestMirror", "externalAuth"}) do
        refer("Service", (filter[name] or {}).backendRef or {})
      end
    end
  end
  for _, rule in ipairs((object.spec or {}).rules or {}) do
    filters(rule.filters)
    for _, backend in ipairs(rule.backendRefs or {}) do
      refer("Service", backend)
      filters(backend.filters)
    end
  end
  return all
end
