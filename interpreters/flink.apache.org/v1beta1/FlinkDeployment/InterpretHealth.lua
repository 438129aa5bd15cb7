local RUNNING = {
  RUNNING = true, FINISHED = true, FAILED = true, CANCELED = true, SUSPENDED = true, CANCELLING = true,
  FAILING = true, RESTARTING = true,
}
local STARTING = {CREATED = true, INITIALIZING = true, RECONCILING = true}
local HOPELESS = {"ErrImagePull", "ImagePullBackOff", "CrashLoopBackOff"}

-- The question is whether another cluster would do better. A job that ran has its own ways to recover; one that starts
-- and cannot get its image is as far as it gets here, and no other cluster has the image either.
function InterpretHealth(observedObj)
  local own = observedObj.status or {}
  local state = (own.jobStatus or {}).state
  if state == nil then
    return own.jobManagerDeploymentStatus == "READY" and own.lifecycleState == "STABLE"
  end
  if STARTING[state] then
    for _, word in ipairs(HOPELESS) do
      if string.find(own.error or "", word, 1, true) then
        return true
      end
    end
    return false
  end
  return RUNNING[state] == true
end
