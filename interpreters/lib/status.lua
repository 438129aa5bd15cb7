-- Reading and adding up statuses. `items` are AggregatedStatusItems: {clusterName, status?, …}; those without a
-- status say nothing and are skipped.
status = {}

-- The values of a field, in the order of the clusters, absent ones left out.
function status.values(items, field)
  local found = {}
  for i = 1, #items do
    local own = items[i].status
    if own ~= nil and own[field] ~= nil then
      found[#found + 1] = own[field]
    end
  end
  return found
end

function status.sum(items, field)
  local total = 0
  for _, value in ipairs(status.values(items, field)) do
    total = total + value
  end
  return total
end

function status.sums(into, items, fields)
  for _, field in ipairs(fields) do
    into[field] = status.sum(items, field)
  end
end

function status.empty(value)
  return value == nil or value == "" or (type(value) == "table" and next(value) == nil)
end

-- The last value that says something, else `otherwise`.
function status.last(items, field, otherwise)
  local result = otherwise
  for _, value in ipairs(status.values(items, field)) do
    if not status.empty(value) then
      result = value
    end
  end
  return result
end

-- RFC 3339 times in UTC order like their texts.
function status.earliest(items, field)
  local result
  for _, value in ipairs(status.values(items, field)) do
    if value ~= "" and (result == nil or value < result) then
      result = value
    end
  end
  return result
end

function status.latest(items, field)
  local result
  for _, value in ipairs(status.values(items, field)) do
    if value ~= "" and (result == nil or value > result) then
      result = value
    end
  end
  return result
end

-- All elements of lists, one after the other.
function status.concat(items, field)
  local all = {}
  for _, list in ipairs(status.values(items, field)) do
    for _, element in ipairs(list) do
      all[#all + 1] = element
    end
  end
  return all
end

-- A new table with the named members.
function status.pick(from, fields)
  local result = {}
  if from ~= nil then
    for _, field in ipairs(fields) do
      result[field] = from[field]
    end
  end
  return result
end

-- As `pick`, of the object's status, with the generations that let the template's side see whether the status is about
-- what was sent.
function status.reflect(object, fields)
  if object.status == nil then
    return {}
  end
  local result = status.pick(object.status, fields)
  local metadata = object.metadata or {}
  result.generation = metadata.generation
  local sent = (metadata.annotations or {})["resourcetemplate.karmada.io/generation"]
  if sent ~= nil then
    result.resourceTemplateGeneration = tonumber(sent)
  end
  return result
end

-- The condition of that type, or nil.
function status.condition(conditions, wanted)
  for _, condition in ipairs(conditions or {}) do
    if condition.type == wanted then
      return condition
    end
  end
  return nil
end

function status.is_true(conditions, wanted)
  for _, condition in ipairs(conditions or {}) do
    if condition.type == wanted and condition.status == "True" then
      return true
    end
  end
  return false
end

function status.now()
  return os.date("!%Y-%m-%dT%H:%M:%SZ")
end

-- Without zeros, empty texts, zero durations and empty tables, also those that become empty by this.
function status.without_zeros(value)
  if type(value) ~= "table" then
    return value
  end
  local result = {}
  local list = value[1] ~= nil
  for key, child in pairs(value) do
    child = status.without_zeros(child)
    if not (child == 0 or child == "0s" or status.empty(child)) then
      if list then
        result[#result + 1] = child
      else
        result[key] = child
      end
    end
  end
  return result
end
