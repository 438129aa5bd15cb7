function AggregateStatus(desiredObj, statusItems)
  return report.aggregate(desiredObj, statusItems, {
    sum = {"failures", "installFailures", "upgradeFailures"},
    last = {
      "lastAttemptedRevision", "lastAttemptedRevisionDigest", "lastAttemptedConfigDigest",
      "lastAttemptedReleaseAction", "helmChart", "storageNamespace",
    },
  })
end
