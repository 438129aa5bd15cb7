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

local PARTS = {"predictor", "transformer", "explainer"}

-- {name, replicas, template} of predictor, transformer and explainer, as far as they are there. Nothing may run at all
-- when `minReplicas` is 0: then the first request starts it. A model of several nodes has workers beside its head.
function kserve.parts(object)
  local all = {}
  for _, name in ipairs(PARTS) do
    local part = object.spec[name]
    if part ~= nil then
      all[#all + 1] = {name = name, replicas = part.minReplicas or 1, template = template(part)}
      local workers = part.workerSpec
      if workers ~= nil then
        local nodes = workers.pipelineParallelSize or 1
        all[#all + 1] = {name = name .. "-worker", replicas = math.max(0, nodes - 1), template = {spec = workers}}
      end
    end
  end
  return all
end

local CLAIM = "pvc://"

-- Names of claims that models are read from: `pvc://<claim>/<path>`.
function kserve.claims(object)
  local all = {}
  local function add(uri)
    if type(uri) == "string" and uri:sub(1, #CLAIM) == CLAIM then
      local slash = uri:find("/", #CLAIM + 1, true)
      all[#all + 1] = uri:sub(#CLAIM + 1, (slash or #uri + 1) - 1)
    end
  end
  for _, name in ipairs(PARTS) do
    local part = object.spec[name] or {}
    for _, model in ipairs(MODELS) do
      add((part[model] or {}).storageUri)
    end
    for _, one in ipairs(part.storageUris or {}) do
      add(one.uri)
    end
  end
  return all
end
