-- Conditions of many clusters as one list. Needs status.lua.
conditions = {}

-- One condition per type, status and reason, in order of appearance; the message says which cluster said what.
function conditions.merge(items)
  local merged, place = {}, {}
  for _, item in ipairs(items) do
    for _, condition in ipairs((item.status or {}).conditions or {}) do
      local key = (condition.type or "") .. "\n" .. (condition.status or "") .. "\n" .. (condition.reason or "")
      local message = item.clusterName .. "=" .. (condition.message or "")
      if place[key] == nil then
        local copy = {}
        for name, value in pairs(condition) do
          copy[name] = value
        end
        copy.message = message
        merged[#merged + 1] = copy
        place[key] = copy
      else
        place[key].message = place[key].message .. ", " .. message
      end
    end
  end
  return merged
end
