-- What the driver and the executors of a Spark application ask for, and what they need beside them. `spark.dependencies`
-- needs pods.lua.
spark = {}

-- Bytes of one unit. Spark writes JVM units, all of them binary.
local BYTES = {k = 1024, m = 1024 ^ 2, g = 1024 ^ 3, t = 1024 ^ 4, p = 1024 ^ 5}
local NAMES = {k = "Ki", m = "Mi", g = "Gi", t = "Ti", p = "Pi"}

-- Amount and unit: `2g` → 2, "g". What has no JVM unit counts in bytes.
local function parse(text)
  local amount, unit = string.match(string.lower(text), "^([%d%.]+)([kmgtp])b?i?$")
  if amount == nil then
    return tonumber(string.match(text, "^[%d%.]+")), nil
  end
  return tonumber(amount), unit
end

-- Memory and what the JVM needs beside it, in the smaller unit of the two.
local function memory(spec, role)
  local amount, unit = parse(role.memory or "1g")
  local bytes = amount * (BYTES[unit] or 1)
  local extra, extra_unit
  if role.memoryOverhead ~= nil then
    extra, extra_unit = parse(role.memoryOverhead)
    extra = extra * (BYTES[extra_unit] or 1)
  else
    local kind = string.lower(spec.type or "")
    local factor = tonumber(spec.memoryOverheadFactor) or ((kind == "java" or kind == "scala") and 0.1 or 0.4)
    extra, extra_unit = math.max(bytes * factor, 384 * BYTES.m), "m"
  end
  local small = (BYTES[unit] or 1) < (BYTES[extra_unit] or 1) and unit or extra_unit
  return string.format("%f", (bytes + extra) / (BYTES[small] or 1)) .. (NAMES[small] or "")
end

function spark.executors(spec)
  local count = (spec.executor or {}).instances or 1
  local dynamic = spec.dynamicAllocation
  if dynamic ~= nil and dynamic.enabled then
    count = math.max(count, dynamic.initialExecutors or 1, dynamic.minExecutors or 1)
  end
  return count
end

-- A pod may ask for another amount of processors than Spark has threads for (`coreRequest`).
function spark.requirements(spec, role)
  local result = {
    resourceRequest = {cpu = role.coreRequest or role.cores or 1, memory = memory(spec, role)},
    priorityClassName = role.priorityClassName,
  }
  local gpu = role.gpu
  if gpu ~= nil and gpu.name ~= nil and (tonumber(gpu.quantity) or 0) > 0 then
    result.resourceRequest[gpu.name] = gpu.quantity
  end
  local affinity = ((role.affinity or {}).nodeAffinity or {}).requiredDuringSchedulingIgnoredDuringExecution
  -- Nodes are chosen for both roles or for each.
  local nodes = role.nodeSelector or spec.nodeSelector
  if nodes ~= nil or role.tolerations ~= nil or affinity ~= nil then
    result.nodeClaim = {
      nodeSelector = nodes, tolerations = role.tolerations, hardNodeAffinity = affinity,
    }
  end
  return result
end

-- The pod of a role, as far as it names other objects.
local function pod(spec, role)
  local main = {name = "spark", env = {}, envFrom = role.envFrom}
  for _, one in ipairs(role.env or {}) do
    main.env[#main.env + 1] = one
  end
  for name, key in pairs(role.envSecretKeyRefs or {}) do
    main.env[#main.env + 1] = {name = name, valueFrom = {secretKeyRef = key}}
  end
  local template = {
    initContainers = role.initContainers, containers = {main}, serviceAccountName = role.serviceAccount,
    imagePullSecrets = {}, volumes = {},
  }
  for _, one in ipairs(role.sidecars or {}) do
    template.containers[#template.containers + 1] = one
  end
  for _, name in ipairs(spec.imagePullSecrets or {}) do
    template.imagePullSecrets[#template.imagePullSecrets + 1] = {name = name}
  end
  local volumes = template.volumes
  local function map(name)
    if name ~= nil then
      volumes[#volumes + 1] = {name = "map", configMap = {name = name}}
    end
  end
  for _, one in ipairs(spec.volumes or {}) do
    volumes[#volumes + 1] = one
  end
  for _, one in ipairs(role.secrets or {}) do
    volumes[#volumes + 1] = {name = "secret", secret = {secretName = one.name}}
  end
  for _, one in ipairs(role.configMaps or {}) do
    map(one.name)
  end
  map(spec.sparkConfigMap)
  map(spec.hadoopConfigMap)
  return {spec = template}
end

-- `spec`: of the application; `object`: in whose namespace it runs.
function spark.dependencies(object, spec)
  local templates = {}
  for _, role in ipairs({spec.driver or {}, spec.executor or {}}) do
    templates[#templates + 1] = pod(spec, role)
    templates[#templates + 1] = role.template
  end
  return pods.dependencies(object, templates)
end
