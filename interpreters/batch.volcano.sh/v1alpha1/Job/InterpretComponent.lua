function GetComponents(desiredObj)
  local all = {}
  for i, task in ipairs((desiredObj.spec or {}).tasks or {}) do
    local name = task.name
    if name == nil or name == "" then
      name = "task-" .. (i - 1)
    end
    all[i] = pods.component(name, tonumber(task.minAvailable) or 1, task.template)
  end
  return all
end
