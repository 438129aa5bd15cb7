-- A notebook that does not run shows why; while all run, the one that started last speaks.
function AggregateStatus(desiredObj, statusItems)
  if statusItems == nil then
    return desiredObj
  end
  if #statusItems == 1 then
    desiredObj.status = statusItems[1].status
    return desiredObj
  end
  local failed, running, state = {}, 0, nil
  for _, item in ipairs(statusItems) do
    local own = (item.status or {}).containerState
    if own ~= nil and own.running ~= nil then
      running = running + 1
      local started = own.running.startedAt or ""
      if #failed == 0 and (state == nil or started > (state.running.startedAt or "")) then
        state = own
      end
    elseif item.status ~= nil then
      failed[#failed + 1] = item.clusterName
      state = status.empty(own) and {waiting = {reason = "Unschedulable"}} or own
    end
  end
  local now = status.now()
  local result = {readyReplicas = status.sum(statusItems, "readyReplicas"), containerState = state}
  if #failed > 0 then
    result.conditions = {{
      type = "Failed", status = "True", reason = "NotebookFailed",
      message = "Notebook executed failed in member clusters: " .. table.concat(failed, ", "),
      lastProbeTime = now, lastTransitionTime = now,
    }}
  elseif running > 0 and running == #statusItems then
    result.conditions = {{
      type = "Ready", status = "True", reason = "Ready", message = "All notebooks are ready",
      lastProbeTime = now, lastTransitionTime = now,
    }}
  end
  desiredObj.status = result
  return desiredObj
end
