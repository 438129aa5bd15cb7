function AggregateStatus(desiredObj, statusItems)
  return kyverno.aggregate(desiredObj, statusItems)
end
