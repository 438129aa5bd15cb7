function AggregateStatus(desiredObj, statusItems)
  return report.aggregate(desiredObj, statusItems, {
    earliest = {"notAfter", "renewalTime"},
    latest = {"revision", "notBefore"},
    sum = {"failedIssuanceAttempts"},
  })
end
