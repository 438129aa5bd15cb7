-- With node pools the brokers are counted there and not here.
local function component(name, replicas, part)
  local pod = ((part.template or {}).pod) or {}
  return pods.component(name, replicas, {
    spec = {
      containers = {{name = name, resources = part.resources}},
      affinity = pod.affinity, tolerations = pod.tolerations,
    },
  })
end

function GetComponents(desiredObj)
  local all = {}
  for _, name in ipairs({"kafka", "zookeeper"}) do
    local part = desiredObj.spec[name]
    if part ~= nil and part.replicas ~= nil then
      all[#all + 1] = component(name, part.replicas, part)
    end
  end
  local operator = desiredObj.spec.entityOperator
  if operator ~= nil then
    local containers = {}
    for _, name in ipairs({"topicOperator", "userOperator"}) do
      if operator[name] ~= nil then
        containers[#containers + 1] = {name = name, resources = operator[name].resources}
      end
    end
    all[#all + 1] = pods.component("entity-operator", 1, {spec = {containers = containers}})
  end
  return all
end
