function GetDependencies(desiredObj)
  return pods.dependencies(desiredObj, {united.template(desiredObj)})
end
