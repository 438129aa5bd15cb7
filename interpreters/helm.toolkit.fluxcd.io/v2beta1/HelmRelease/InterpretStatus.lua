local FIELDS = {
  "conditions", "observedGeneration", "lastAttemptedRevision", "lastAppliedRevision",
  "lastAttemptedValuesChecksum", "helmChart", "lastReleaseRevision", "failures", "upgradeFailures",
  "installFailures"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
