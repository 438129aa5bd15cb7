-- A replicated job is several Jobs, and each of them several pods at a time.
local function pods_at_a_time(job)
  local parallelism = job.parallelism or 1
  return math.min(parallelism, job.completions or parallelism)
end

function GetComponents(desiredObj)
  local all = {}
  for i, job in ipairs(desiredObj.spec.replicatedJobs or {}) do
    local spec = (job.template or {}).spec or {}
    all[i] = pods.component(job.name, (job.replicas or 1) * pods_at_a_time(spec), spec.template)
  end
  return all
end
