-- Kinds that are several Jobs together: counts per job, and how the whole ended. Needs status.lua.
sets = {}

local COUNTS = {"ready", "succeeded", "failed", "active", "suspended"}

-- Counts per job, which stand in lists under `field`, in the order in which the jobs appear.
function sets.counts(items, field)
  local all, place = {}, {}
  for _, one in ipairs(status.concat(items, field)) do
    local own = place[one.name]
    if own == nil then
      own = {name = one.name}
      place[one.name] = own
      all[#all + 1] = own
    end
    for _, count in ipairs(COUNTS) do
      own[count] = (own[count] or 0) + (one[count] or 0)
    end
  end
  return all
end

-- Names of the clusters that failed, and whether all have the condition that says that it is done.
function sets.outcome(items, done)
  local failed, ended = {}, 0
  for _, item in ipairs(items) do
    local conditions = (item.status or {}).conditions
    if status.is_true(conditions, "Failed") then
      failed[#failed + 1] = item.clusterName
    elseif status.is_true(conditions, done) then
      ended = ended + 1
    end
  end
  return failed, #items > 0 and ended == #items
end

-- The one condition of the whole: `kind` failed, or is done; nil as long as it is neither.
function sets.conditions(kind, failed, all_done, done)
  local function condition(type_, reason, message)
    return {{type = type_, status = "True", reason = reason, message = message, lastTransitionTime = status.now()}}
  end
  if #failed > 0 then
    return condition("Failed", kind .. "Failed", kind .. " failed in clusters: " .. table.concat(failed, ", "))
  elseif all_done then
    return condition(done, "AllJobsCompleted", kind .. " completed in all clusters")
  end
  return nil
end

-- While it runs it has no conditions.
function sets.healthy(object)
  return object.status ~= nil and not status.is_true(object.status.conditions, "Failed")
end
