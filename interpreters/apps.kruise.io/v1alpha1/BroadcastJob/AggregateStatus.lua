-- The first Complete or Failed condition that is true says how a copy ended.
local function outcome(own)
  for _, condition in ipairs(own.conditions or {}) do
    if condition.status == "True" and (condition.type == "Complete" or condition.type == "Failed") then
      return condition.type
    end
  end
  return nil
end

function AggregateStatus(desiredObj, statusItems)
  if statusItems == nil then
    return desiredObj
  end
  local own = desiredObj.status or {}
  status.sums(own, statusItems, {"active", "succeeded", "failed", "desired"})
  own.phase = status.last(statusItems, "phase", "")
  own.conditions = nil
  local failed, complete, reported = {}, 0, 0
  for _, item in ipairs(statusItems) do
    if item.status ~= nil then
      reported = reported + 1
      local ended = outcome(item.status)
      if ended == "Failed" then
        failed[#failed + 1] = item.clusterName
      elseif ended == "Complete" then
        complete = complete + 1
      end
    end
  end
  if #failed > 0 then
    own.conditions = {{
      type = "Failed", status = "True", reason = "JobFailed",
      message = "Job executed failed in member clusters: " .. table.concat(failed, ", "),
    }}
  elseif #statusItems > 0 and complete == #statusItems then
    own.conditions = {{type = "Completed", status = "True", reason = "Completed", message = "Job completed"}}
  end
  desiredObj.status = own
  return desiredObj
end
