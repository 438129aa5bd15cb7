local FIELDS = {
  "conditions", "notBefore", "notAfter", "renewalTime", "revision", "failedIssuanceAttempts"
}

function ReflectStatus(observedObj)
  return status.reflect(observedObj, FIELDS)
end
