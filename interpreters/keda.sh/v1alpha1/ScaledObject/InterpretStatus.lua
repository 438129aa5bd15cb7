local FIELDS = {
  "conditions", "scaleTargetKind", "originalReplicaCount", "hpaName", "lastActiveTime", "pausedReplicaCount",
  "triggersTypes", "authenticationsTypes", "health"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
