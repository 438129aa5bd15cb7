local FIELDS = {
  "conditions", "observedGeneration", "lastAttemptedGeneration", "lastAttemptedRevision",
  "lastAttemptedRevisionDigest", "lastAttemptedConfigDigest", "lastAttemptedReleaseAction", "helmChart",
  "storageNamespace", "failures", "installFailures", "upgradeFailures"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
