local BROKEN = {Error = true, OOMKilled = true, ContainerCannotRun = true}

function InterpretHealth(observedObj)
  local state = (observedObj.status or {}).containerState or {}
  if state.running ~= nil then
    return true
  elseif state.waiting ~= nil then
    return state.waiting.reason == "ContainerCreating"
  elseif state.terminated ~= nil then
    return not BROKEN[state.terminated.reason or ""] and (state.terminated.exitCode or 0) == 0
  end
  return false
end
