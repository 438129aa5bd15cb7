local FIELDS = {
  "conditions", "instances", "readyInstances", "phase", "phaseReason", "currentPrimary", "targetPrimary"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
