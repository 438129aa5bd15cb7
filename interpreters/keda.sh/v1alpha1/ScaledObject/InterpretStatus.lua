local FIELDS = {
  "conditions", "scaleTargetKind", "originalReplicaCount", "hpaName", "lastActiveTime", "pausedReplicaCount"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
