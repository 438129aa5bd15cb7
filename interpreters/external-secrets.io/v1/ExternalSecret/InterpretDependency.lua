-- The stores that it reads from, of the namespace or of the cluster, generators, and what its template is made of.
function GetDependencies(desiredObj)
  local spec, namespace = desiredObj.spec or {}, desiredObj.metadata.namespace
  local all, seen = {}, {}
  local function refer(version, kind, name)
    if name ~= nil and not seen[kind .. "/" .. name] then
      seen[kind .. "/" .. name] = true
      local everywhere = string.sub(kind, 1, 7) == "Cluster"
      all[#all + 1] = {apiVersion = version, kind = kind, namespace = not everywhere and namespace or nil, name = name}
    end
  end
  local function store(ref)
    refer("external-secrets.io/v1", ref.kind or "SecretStore", ref.name)
  end
  local function source(ref)
    store(ref.storeRef or {})
    local generator = ref.generatorRef or {}
    if generator.kind ~= nil then
      refer(generator.apiVersion or "generators.external-secrets.io/v1alpha1", generator.kind, generator.name)
    end
  end
  store(spec.secretStoreRef or {})
  for _, list in ipairs({spec.data or {}, spec.dataFrom or {}}) do
    for _, one in ipairs(list) do
      source(one.sourceRef or {})
    end
  end
  for _, from in ipairs(((spec.target or {}).template or {}).templateFrom or {}) do
    refer("v1", "ConfigMap", (from.configMap or {}).name)
    refer("v1", "Secret", (from.secret or {}).name)
  end
  return all
end
