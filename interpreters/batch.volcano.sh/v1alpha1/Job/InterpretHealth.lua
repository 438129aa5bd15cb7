local HEALTHY = {
  Running = true, Completed = true, Pending = true, Aborting = true, Aborted = true, Restarting = true,
  Completing = true, Terminating = true, Terminated = true,
}

-- Whatever a person or a policy of the job did on purpose is healthy; Failed is what is left.
function InterpretHealth(observedObj)
  local state = (observedObj.status or {}).state or {}
  return HEALTHY[state.phase or ""] == true
end
