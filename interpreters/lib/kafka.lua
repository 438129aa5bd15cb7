-- The pods of a Kafka cluster by Strimzi, and of its pools of nodes. Needs pods.lua.
kafka = {}

-- The pod of a part: its containers as {name, what stands in the spec, what stands in the template}, and the pod of its
-- template.
local function pod(part, containers)
  local template = part.template or {}
  local from = template.pod or {}
  local spec = {
    affinity = from.affinity, tolerations = from.tolerations, imagePullSecrets = from.imagePullSecrets,
    volumes = from.volumes, containers = {},
  }
  for i, one in ipairs(containers) do
    spec.containers[i] = {
      name = one[1], resources = (one[2] or {}).resources, env = (template[one[3]] or {}).env,
    }
  end
  return {spec = spec}
end

-- The template of a pool of brokers.
function kafka.pool(object)
  return pod(object.spec, {{"kafka", object.spec, "kafkaContainer"}})
end

local function enabled(object, annotation)
  return ((object.metadata or {}).annotations or {})["strimzi.io/" .. annotation] == "enabled"
end

-- {name, replicas or nil, template, part} of everything that runs. Without `replicas` it is counted elsewhere: brokers
-- belong to node pools, always in version 1 and where an annotation says so in version 1beta2.
function kafka.parts(object)
  local spec, all = object.spec or {}, {}
  local function add(name, replicas, part, containers)
    all[#all + 1] = {name = name, replicas = replicas, part = part, template = pod(part, containers)}
  end
  if spec.kafka ~= nil then
    local replicas = not enabled(object, "node-pools") and spec.kafka.replicas or nil
    add("kafka", replicas, spec.kafka, {{"kafka", spec.kafka, "kafkaContainer"}})
  end
  if spec.zookeeper ~= nil and not enabled(object, "kraft") then
    add("zookeeper", spec.zookeeper.replicas, spec.zookeeper, {{"zookeeper", spec.zookeeper, "zookeeperContainer"}})
  end
  local operator = spec.entityOperator
  if operator ~= nil then
    local containers = {}
    for _, name in ipairs({"topicOperator", "userOperator"}) do
      if operator[name] ~= nil then
        containers[#containers + 1] = {name, operator[name], name .. "Container"}
      end
    end
    add("entity-operator", 1, operator, containers)
  end
  if spec.kafkaExporter ~= nil then
    add("kafka-exporter", 1, spec.kafkaExporter, {{"kafka-exporter", spec.kafkaExporter, "container"}})
  end
  if spec.cruiseControl ~= nil then
    local control = spec.cruiseControl
    add("cruise-control", 1, control, {{"cruise-control", control, "cruiseControlContainer"}})
  end
  return all
end

function kafka.components(object)
  local all = {}
  for _, one in ipairs(kafka.parts(object)) do
    if one.replicas ~= nil then
      all[#all + 1] = pods.component(one.name, one.replicas, one.template)
    end
  end
  return all
end

function kafka.dependencies(object)
  local templates = {}
  for i, one in ipairs(kafka.parts(object)) do
    templates[i] = one.template
  end
  local all, seen = pods.dependencies(object, templates), {}
  for _, one in ipairs(all) do
    seen[one.kind .. "/" .. one.name] = true
  end
  local function refer(kind, name)
    if name ~= nil and not seen[kind .. "/" .. name] then
      seen[kind .. "/" .. name] = true
      all[#all + 1] = {apiVersion = "v1", kind = kind, namespace = object.metadata.namespace, name = name}
    end
  end
  local function configured(part)
    for _, from in ipairs({part.metricsConfig or {}, part.logging or {}}) do
      refer("ConfigMap", ((from.valueFrom or {}).configMapKeyRef or {}).name)
    end
  end
  for _, one in ipairs(kafka.parts(object)) do
    configured(one.part)
    configured(one.part.topicOperator or {})
    configured(one.part.userOperator or {})
  end
  for _, listener in ipairs((object.spec.kafka or {}).listeners or {}) do
    refer("Secret", ((listener.configuration or {}).brokerCertChainAndKey or {}).secretName)
  end
  local users = ((object.spec.cruiseControl or {}).apiUsers or {}).valueFrom or {}
  refer("Secret", (users.secretKeyRef or {}).name)
  return all
end
