-- A service of a large language model: one workload, or two where reading and writing are separate. Needs pods.lua and
-- kserve.lua.
llm = {}

-- Pods of one replica: more than one where the model is spread over nodes.
local function size(workload)
  local parallel = workload.parallelism or {}
  local data, here = parallel.data or 0, parallel.dataLocal or 0
  if data > 0 or here > 0 then
    return math.max(1, math.floor(math.max(data, 1) / math.max(here, 1)))
  end
  return math.max(1, parallel.pipeline or 1)
end

-- Without `replicas` an autoscaler has the number, and then the smallest counts.
local function replicas(workload)
  return workload.replicas or (workload.scaling or {}).minReplicas or 1
end

-- A pod spec as a template, nil where a configuration of the cluster has it.
local function template(spec)
  return spec ~= nil and {spec = spec} or nil
end

local function add(all, name, workload)
  local count = replicas(workload)
  all[#all + 1] = {name = name, replicas = count, template = template(workload.template or workload.worker)}
  if workload.worker ~= nil then
    all[#all + 1] = {
      name = name .. "-worker", replicas = count * (size(workload) - 1), template = template(workload.worker),
    }
  end
end

-- {name, replicas, template or nil} of all that runs.
function llm.parts(object)
  local spec, all = object.spec or {}, {}
  add(all, spec.prefill ~= nil and "decode" or "main", spec)
  if spec.prefill ~= nil then
    add(all, "prefill", spec.prefill)
  end
  local scheduler = (spec.router or {}).scheduler or {}
  if scheduler.template ~= nil then
    all[#all + 1] = {name = "scheduler", replicas = scheduler.replicas or 1, template = template(scheduler.template)}
  end
  return all
end

-- Claims of the model, of its adapters and of the caches.
function llm.claims(object)
  local spec = object.spec or {}
  local model = spec.model or {}
  local all = {kserve.claim(model.uri)}
  for _, adapter in ipairs((model.lora or {}).adapters or {}) do
    all[#all + 1] = kserve.claim(adapter.uri)
  end
  for _, workload in ipairs({spec, spec.prefill or {}}) do
    for _, tier in ipairs((workload.kvCacheOffloading or {}).secondary or {}) do
      all[#all + 1] = (((tier.fileSystem or {}).pvc or {}).ref or {}).name
    end
  end
  return all
end
