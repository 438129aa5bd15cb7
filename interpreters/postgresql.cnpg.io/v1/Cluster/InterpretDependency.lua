-- A place for backups, here or of a cluster elsewhere: every credential is a key of a Secret.
local function store(refer, place)
  for _, kind in ipairs({"s3Credentials", "azureCredentials", "googleCredentials"}) do
    for _, selected in pairs(place[kind] or {}) do
      refer("Secret", type(selected) == "table" and selected.name or nil)
    end
  end
  refer("Secret", (place.endpointCA or {}).name)
end

local function each(refer, kind, list)
  for _, one in ipairs(list or {}) do
    refer(kind, one.name)
  end
end

local function bootstrap(refer, ways)
  for _, way in ipairs({"initdb", "recovery", "pg_basebackup"}) do
    refer("Secret", ((ways[way] or {}).secret or {}).name)
  end
  for _, sql in ipairs({"postInitSQLRefs", "postInitTemplateSQLRefs", "postInitApplicationSQLRefs"}) do
    local from = (ways.initdb or {})[sql] or {}
    each(refer, "Secret", from.secretRefs)
    each(refer, "ConfigMap", from.configMapRefs)
  end
end

function GetDependencies(desiredObj)
  local spec = desiredObj.spec
  local all, refer = pods.references(desiredObj)
  refer("Secret", (spec.superuserSecret or {}).name)
  bootstrap(refer, spec.bootstrap or {})
  each(refer, "Secret", spec.imagePullSecrets)
  for _, name in ipairs({"serverTLSSecret", "serverCASecret", "clientCASecret", "replicationTLSSecret"}) do
    refer("Secret", (spec.certificates or {})[name])
  end
  store(refer, (spec.backup or {}).barmanObjectStore or {})
  for _, cluster in ipairs(spec.externalClusters or {}) do
    for _, name in ipairs({"password", "sslCert", "sslKey", "sslRootCert"}) do
      refer("Secret", (cluster[name] or {}).name)
    end
    store(refer, cluster.barmanObjectStore or {})
  end
  for _, role in ipairs((spec.managed or {}).roles or {}) do
    refer("Secret", (role.passwordSecret or {}).name)
  end
  each(refer, "ConfigMap", (spec.monitoring or {}).customQueriesConfigMap)
  each(refer, "Secret", (spec.monitoring or {}).customQueriesSecret)
  local ldap = ((spec.postgresql or {}).ldap or {}).bindSearchAuth or {}
  refer("Secret", (ldap.bindPassword or {}).name)
  for _, one in ipairs(pods.dependencies(desiredObj, {{
    spec = {
      containers = {{name = "postgres", env = spec.env, envFrom = spec.envFrom}},
      volumes = {{name = "projected", projected = spec.projectedVolumeTemplate}},
      serviceAccountName = spec.serviceAccountName,
    },
  }})) do
    if one.kind == "ServiceAccount" then
      all[#all + 1] = one
    else
      refer(one.kind, one.name)
    end
  end
  local catalog = spec.imageCatalogRef
  if catalog ~= nil and catalog.name ~= nil then
    all[#all + 1] = {apiVersion = "postgresql.cnpg.io/v1", kind = catalog.kind or "ImageCatalog", name = catalog.name}
    if all[#all].kind == "ImageCatalog" then
      all[#all].namespace = desiredObj.metadata.namespace
    end
  end
  return all
end
