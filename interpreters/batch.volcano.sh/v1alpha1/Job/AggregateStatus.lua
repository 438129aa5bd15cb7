local UNITS = {h = 3600, m = 60, s = 1, ms = 0.001}
local BAD = {Failed = true, Aborted = true, Aborting = true, Terminated = true, Terminating = true}

-- Seconds of a duration as Go prints it: 1h2m3.5s.
local function seconds(text)
  local total = 0
  for amount, unit in string.gmatch(text, "([%d%.]+)(%a+)") do
    total = total + tonumber(amount) * (UNITS[unit] or 0)
  end
  return total
end

local function longest(items)
  local result, most
  for _, text in ipairs(status.values(items, "runningDuration")) do
    if result == nil or seconds(text) > most then
      result, most = text, seconds(text)
    end
  end
  return result
end

local function task_counts(items)
  local tasks = {}
  for _, counts in ipairs(status.values(items, "taskStatusCount")) do
    for task, count in pairs(counts) do
      tasks[task] = tasks[task] or {phase = {}}
      for phase, number in pairs(count.phase or {}) do
        tasks[task].phase[phase] = (tasks[task].phase[phase] or 0) + number
      end
    end
  end
  return tasks
end

local function resources(items)
  local all = {}
  for _, own in ipairs(status.values(items, "controlledResources")) do
    for name, value in pairs(own) do
      all[name] = value
    end
  end
  return all
end

local function state(items)
  local failed, completed = {}, 0
  for _, item in ipairs(items) do
    local phase = ((item.status or {}).state or {}).phase
    if phase == "Failed" or phase == "Aborted" then
      failed[#failed + 1] = item.clusterName
    elseif phase == "Completed" then
      completed = completed + 1
    end
  end
  if #failed > 0 then
    return {
      phase = "Failed", reason = "VolcanoJobFailed",
      message = "Job failed in clusters: " .. table.concat(failed, ","),
      lastTransitionTime = status.now(),
    }
  elseif #items > 0 and completed == #items then
    return {
      phase = "Completed", reason = "Completed", message = "Job completed successfully",
      lastTransitionTime = status.now(),
    }
  end
  return nil
end

-- The history of the first copy that went wrong explains the whole; else the newest of every kind.
local function conditions(items)
  for _, list in ipairs(status.values(items, "conditions")) do
    for _, condition in ipairs(list) do
      if BAD[condition.status or ""] then
        return list
      end
    end
  end
  local all, place = {}, {}
  for _, condition in ipairs(status.concat(items, "conditions")) do
    local key = condition.status or ""
    if place[key] == nil then
      place[key] = #all + 1
      all[place[key]] = condition
    elseif (condition.lastTransitionTime or "") > (all[place[key]].lastTransitionTime or "") then
      all[place[key]] = condition
    end
  end
  return all
end

function AggregateStatus(desiredObj, statusItems)
  if statusItems == nil then
    return desiredObj
  end
  if #statusItems == 1 then
    desiredObj.status = statusItems[1].status
    return desiredObj
  end
  local own = {}
  status.sums(own, statusItems, {
    "minAvailable", "pending", "running", "succeeded", "failed", "terminating", "unknown", "retryCount",
  })
  own.version = status.latest(statusItems, "version")
  own.runningDuration = longest(statusItems)
  own.taskStatusCount = task_counts(statusItems)
  own.controlledResources = resources(statusItems)
  own.state = state(statusItems)
  own.conditions = conditions(statusItems)
  desiredObj.status = status.without_zeros(own)
  return desiredObj
end
