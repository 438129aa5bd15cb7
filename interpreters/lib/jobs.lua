-- Training jobs of Kubeflow: a status per role, conditions that only ever become true. Needs status.lua, pods.lua and,
-- for `retain`, queue.lua.
jobs = {}

-- Once it has reported at all, a job is healthy as long as it has not failed.
function jobs.healthy(object)
  local own = object.status or {}
  return own.conditions ~= nil and not status.is_true(own.conditions, "Failed")
end

-- `roles`: the names under which the parts stand, in the order wanted.
function jobs.components(specs, roles)
  local all = {}
  for _, role in ipairs(roles) do
    local spec = (specs or {})[role]
    if spec ~= nil then
      all[#all + 1] = pods.component(string.lower(role), tonumber(spec.replicas) or 1, spec.template)
    end
  end
  return all
end

function jobs.dependencies(object, specs, roles)
  local templates = {}
  for _, role in ipairs(roles) do
    local spec = (specs or {})[role]
    if spec ~= nil and spec.template ~= nil then
      templates[#templates + 1] = spec.template
    end
  end
  return pods.dependencies(object, templates)
end

-- Sums of active, succeeded and failed per role.
function jobs.replica_statuses(items, roles)
  local sums = {}
  for _, statuses in ipairs(status.values(items, "replicaStatuses")) do
    for _, role in ipairs(roles) do
      for _, field in ipairs({"active", "failed", "succeeded"}) do
        local count = (statuses[role] or {})[field]
        if count ~= nil then
          sums[role] = sums[role] or {}
          sums[role][field] = (sums[role][field] or 0) + count
        end
      end
    end
  end
  return sums
end

-- How the copies ended: names of clusters that failed, number of those that succeeded. Of several conditions of a copy
-- the last true one counts.
function jobs.outcomes(items)
  local failed, succeeded = {}, 0
  for _, item in ipairs(items) do
    local ended
    for _, condition in ipairs((item.status or {}).conditions or {}) do
      if condition.status == "True" and (condition.type == "Succeeded" or condition.type == "Failed") then
        ended = condition.type
      end
    end
    if ended == "Failed" then
      failed[#failed + 1] = item.clusterName
    elseif ended == "Succeeded" then
      succeeded = succeeded + 1
    end
  end
  return failed, succeeded
end

-- No copies at all: nothing of an earlier round may stay.
function jobs.clear(own)
  for _, field in ipairs({"startTime", "completionTime", "replicaStatuses", "conditions"}) do
    own[field] = nil
  end
  return own
end

-- Times, sums, and one condition that says how the whole ended. A time of completion that is known stays.
function jobs.aggregate(desired, items, roles)
  local own = desired.status or {}
  desired.status = own
  if items == nil then
    jobs.clear(own)
    return desired
  end
  own.startTime = status.earliest(items, "startTime")
  own.lastReconcileTime = status.latest(items, "lastReconcileTime")
  own.replicaStatuses = jobs.replica_statuses(items, roles)
  own.conditions = nil
  local failed, succeeded = jobs.outcomes(items)
  local now, kind = status.now(), desired.kind
  if #failed > 0 then
    own.conditions = {{
      type = "Failed", status = "True", reason = kind .. "Failed",
      message = kind .. " executed failed in member clusters: " .. table.concat(failed, ", "),
      lastProbeTime = now, lastTransitionTime = now,
    }}
  elseif succeeded > 0 and succeeded == #items then
    own.conditions = {{
      type = "Succeeded", status = "True", reason = "Completed", message = kind .. " completed successfully",
      lastProbeTime = now, lastTransitionTime = now,
    }}
    own.completionTime = status.latest(items, "completionTime")
  end
  desired.status = status.without_zeros(own)
  return desired
end

function jobs.retain(desired, observed)
  local spec = desired.spec or {}
  local policy = (observed.spec or {}).runPolicy
  if policy ~= nil and policy.suspend ~= nil then
    spec.runPolicy = spec.runPolicy or {}
  end
  queue.retain(observed, spec.runPolicy, policy)
  return desired
end
