-- What the kinds of Ray share: a head, groups of workers, and how several statuses become one. Needs status.lua and
-- pods.lua.
ray = {}

-- Pods of a group as its operator counts them: between the limits, several where a replica spans hosts, and none while
-- the group is suspended.
local function workers(group)
  if group.suspend then
    return 0
  end
  local replicas = math.max(group.replicas or 0, group.minReplicas or 0)
  return math.min(replicas, group.maxReplicas or replicas) * (group.numOfHosts or 1)
end

-- The head, if it has a template, and every group of workers by its name.
function ray.components(cluster)
  local all = {}
  cluster = cluster or {}
  local head = (cluster.headGroupSpec or {}).template
  if head ~= nil then
    all[1] = pods.component("ray-head", 1, head)
  end
  for i, group in ipairs(cluster.workerGroupSpecs or {}) do
    local name = status.empty(group.groupName) and "worker-" .. i or group.groupName
    all[#all + 1] = pods.component(name, workers(group), group.template)
  end
  return all
end

-- The templates of head and workers, without the containers that only somebody who debugs puts there.
function ray.templates(cluster)
  local all = {}
  local function add(template)
    if template ~= nil and template.spec ~= nil then
      local spec = {}
      for name, value in pairs(template.spec) do
        if name ~= "ephemeralContainers" then
          spec[name] = value
        end
      end
      all[#all + 1] = {spec = spec}
    end
  end
  add((cluster.headGroupSpec or {}).template)
  for _, group in ipairs(cluster.workerGroupSpecs or {}) do
    add(group.template)
  end
  return all, add
end

-- `combine(items, own)` writes the status of several over the old one. The spec is not needed beside it and left out.
function ray.aggregate(desired, items, combine)
  if items == nil then
    return desired
  end
  desired.spec = nil
  if #items == 1 then
    desired.status = items[1].status
  else
    desired.status = desired.status or {}
    combine(items, desired.status)
  end
  return desired
end
