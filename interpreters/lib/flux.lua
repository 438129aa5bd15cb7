-- The kinds of Flux share how they suspend, report and become ready. Needs status.lua, gate.lua, conditions.lua.
flux = {}

-- A cluster's own decision to suspend stays.
function flux.retain(desired, observed)
  if observed.spec ~= nil and observed.spec.suspend ~= nil then
    desired.spec = desired.spec or {}
    desired.spec.suspend = observed.spec.suspend
  end
  return desired
end

-- Some Ready condition is true for one of the reasons.
function flux.healthy(object, reasons)
  for _, condition in ipairs((object.status or {}).conditions or {}) do
    if condition.type == "Ready" and condition.status == "True" then
      for _, reason in ipairs(reasons) do
        if condition.reason == reason then
          return true
        end
      end
    end
  end
  return false
end

-- `fields`: name → what stands there when no copy says anything.
function flux.aggregate(desired, items, fields)
  local own, present = gate.open(desired, items)
  own.conditions = conditions.merge(present)
  for name, otherwise in pairs(fields) do
    own[name] = status.last(present, name, otherwise)
  end
  return desired
end

-- As `aggregate`; what no copy says keeps the value it had, and is empty when there are no copies at all.
function flux.continue(desired, items, fields)
  local own, present = gate.open(desired, items)
  own.conditions = conditions.merge(present)
  for _, name in ipairs(fields) do
    own[name] = status.last(present, name, items == nil and "" or own[name])
  end
  return desired
end

-- Secrets by the paths given, each a list of names.
function flux.secrets(object, refer, paths)
  for _, path in ipairs(paths) do
    local at = object.spec
    for _, name in ipairs(path) do
      at = at ~= nil and at[name] or nil
    end
    if at ~= nil then
      refer("Secret", at.name)
    end
  end
end
