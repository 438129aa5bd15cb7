-- The parts of an inference service. Each is a pod spec with a few fields more.
kserve = {}

-- What stands beside the containers of a predictor, by framework; `model` is the one of newer versions.
local MODELS = {
  "model", "sklearn", "xgboost", "tensorflow", "pytorch", "triton", "onnx", "huggingface", "pmml", "lightgbm", "paddle",
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

-- {name, replicas, template} of predictor, transformer and explainer, as far as they are there. Nothing may run at all
-- when `minReplicas` is 0: then the first request starts it.
function kserve.parts(object)
  local all = {}
  for _, name in ipairs({"predictor", "transformer", "explainer"}) do
    local part = object.spec[name]
    if part ~= nil then
      all[#all + 1] = {name = name, replicas = part.minReplicas or 1, template = template(part)}
    end
  end
  return all
end
