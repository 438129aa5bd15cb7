-- The parts of an inference service. Each is a pod spec with a few fields more.
kserve = {}

-- What stands beside the containers of a predictor or an explainer, by framework; `model` is the one of newer versions.
local MODELS = {
  "model", "sklearn", "xgboost", "tensorflow", "pytorch", "triton", "onnx", "huggingface", "pmml", "lightgbm", "paddle",
  "art", "alibi", "aix",
}

local function template(part)
  local spec = {}
  for name, value in pairs(part) do
    spec[name] = value
  end
  spec.containers = {}
  for _, container in ipairs(part.containers or {}) do
    spec.containers[#spec.containers + 1] = container
  end
  for _, name in ipairs(MODELS) do
    local model = part[name]
    spec[name] = nil
    if model ~= nil then
      spec.containers[#spec.containers + 1] = {
        name = "kserve-container", resources = model.resources, env = model.env, envFrom = model.envFrom,
      }
    end
  end
  return {spec = spec}
end

local DEVICES = {"nvidia.com/gpu", "amd.com/gpu", "intel.com/gpu", "habana.ai/gaudi"}

-- The container that serves: the one of that name, else the first.
local function server(spec, name)
  for i, container in ipairs(spec.containers or {}) do
    if container.name == name then
      return i, container
    end
  end
  return 1, (spec.containers or {})[1]
end

-- How many devices it asks for, and of which sort.
local function devices(container)
  local requests = ((container or {}).resources or {}).requests or {}
  for _, name in ipairs(DEVICES) do
    if requests[name] ~= nil then
      return tonumber(requests[name]) or 0, name
    end
  end
  return 0, nil
end

local function with_devices(spec, name, sort, count)
  local place, container = server(spec, name)
  local resources, requests, containers, copy = {}, {}, {}, {}
  for key, value in pairs(((container or {}).resources or {}).requests or {}) do
    requests[key] = value
  end
  requests[sort] = tostring(count)
  for key, value in pairs((container or {}).resources or {}) do
    resources[key] = value
  end
  resources.requests = requests
  for i, one in ipairs(spec.containers or {}) do
    containers[i] = one
  end
  containers[place] = {name = name, resources = resources}
  for key, value in pairs((container or {})) do
    containers[place][key] = containers[place][key] or value
  end
  for key, value in pairs(spec) do
    copy[key] = value
  end
  copy.containers = containers
  return {spec = copy}
end

-- A model on several nodes: nodes, devices of the head, devices of each worker. `pipeline` × `tensor` devices are
-- needed; a node has as many as its part asks for, one where none does.
local function nodes(workers, head, worker)
  local all = (workers.pipelineParallelSize or 1) * (workers.tensorParallelSize or 1)
  if worker > 0 then
    local count = math.ceil(all / worker)
    if count == 1 or head >= all then
      return 1, all
    end
    return count, head > 0 and head or all - worker * (count - 1), worker
  elseif head > 0 then
    return 1 + math.max(0, all - head), head, 1
  end
  return all, 1, 1
end

local function add_part(all, name, part)
  local own = {name = name, replicas = part.minReplicas or 1, template = template(part)}
  all[#all + 1] = own
  local workers = part.workerSpec
  if workers == nil then
    return
  end
  local _, head_server = server(own.template.spec, "kserve-container")
  local _, worker_server = server(workers, "worker-container")
  local head, sort = devices(head_server)
  local worker, worker_sort = devices(worker_server)
  sort = worker_sort or sort or DEVICES[1]
  local count, of_head, of_worker = nodes(workers, head, worker)
  own.template = with_devices(own.template.spec, "kserve-container", sort, of_head)
  if count > 1 then
    local rest = with_devices(workers, "worker-container", sort, of_worker)
    all[#all + 1] = {name = name .. "-worker", replicas = count - 1, template = rest}
  end
end

local PARTS = {"predictor", "transformer", "explainer"}

-- {name, replicas, template} of predictor, transformer and explainer, as far as they are there, and of the predictors
-- that take a part of the traffic. Nothing may run at all when `minReplicas` is 0: then the first request starts it. A
-- model of several nodes has workers beside its head.
function kserve.parts(object)
  local all = {}
  for _, name in ipairs(PARTS) do
    if object.spec[name] ~= nil then
      add_part(all, name, object.spec[name])
    end
  end
  for i, canary in ipairs(object.spec.canary or {}) do
    add_part(all, "canary-" .. i, canary.predictor or {})
  end
  return all
end

local CLAIM = "pvc://"

-- The claim that a model is read from, or nil: `pvc://<claim>/<path>`.
function kserve.claim(uri)
  if type(uri) ~= "string" or uri:sub(1, #CLAIM) ~= CLAIM then
    return nil
  end
  local slash = uri:find("/", #CLAIM + 1, true)
  return uri:sub(#CLAIM + 1, (slash or #uri + 1) - 1)
end

-- Names of claims that models are read from.
function kserve.claims(object)
  local all = {}
  local function add(part)
    for _, model in ipairs(MODELS) do
      all[#all + 1] = kserve.claim((part[model] or {}).storageUri)
    end
    for _, one in ipairs(part.storageUris or {}) do
      all[#all + 1] = kserve.claim(one.uri)
    end
  end
  for _, name in ipairs(PARTS) do
    add(object.spec[name] or {})
  end
  for _, canary in ipairs(object.spec.canary or {}) do
    add(canary.predictor or {})
  end
  return all
end
