function AggregateStatus(desiredObj, statusItems)
  if statusItems == nil then
    return desiredObj
  end
  local autogens, readies = status.values(statusItems, "autogen"), status.values(statusItems, "ready")
  local counts = {validate = 0, generate = 0, mutate = 0, verifyimages = 0}
  for _, own in ipairs(status.values(statusItems, "rulecount")) do
    for name, count in pairs(counts) do
      counts[name] = count + (own[name] or 0)
    end
  end
  desiredObj.status = {
    autogen = autogens[#autogens],
    ready = readies[#readies],
    rulecount = counts,
    conditions = conditions.merge(statusItems),
  }
  return desiredObj
end
