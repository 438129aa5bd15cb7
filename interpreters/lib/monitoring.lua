-- What the kinds of the Prometheus operator name: keys of Secrets and ConfigMaps, and lists of both. Needs pods.lua.
monitoring = {}

-- Of whatever speaks to another server: how it shows who it is, and whom it trusts.
function monitoring.client(refer, part)
  local basic, oauth, tls = part.basicAuth or {}, part.oauth2 or {}, part.tlsConfig or {}
  refer("Secret", (basic.username or {}).name)
  refer("Secret", (basic.password or {}).name)
  refer("Secret", ((part.authorization or {}).credentials or {}).name)
  refer("Secret", (part.bearerTokenSecret or {}).name)
  refer("Secret", (oauth.clientSecret or {}).name)
  refer("Secret", (tls.keySecret or {}).name)
  for _, either in ipairs({oauth.clientId or {}, tls.ca or {}, tls.cert or {}, tls.client_ca or {}}) do
    refer("Secret", (either.secret or {}).name)
    refer("ConfigMap", (either.configMap or {}).name)
  end
end

-- The pod of a server: its own container, and those beside it.
function monitoring.template(object, name)
  local spec = object.spec or {}
  local pod = {containers = {{name = name, resources = spec.resources}}}
  for _, field in ipairs({
    "affinity", "nodeSelector", "tolerations", "priorityClassName", "serviceAccountName", "imagePullSecrets", "volumes",
    "initContainers",
  }) do
    pod[field] = spec[field]
  end
  for _, container in ipairs(spec.containers or {}) do
    if container.name == name then
      pod.containers[1] = {
        name = name, resources = container.resources or spec.resources, env = container.env, envFrom = container.envFrom,
      }
    else
      pod.containers[#pod.containers + 1] = container
    end
  end
  return {spec = pod}
end

-- What its pod needs, what is mounted into it, and its certificate. `refer` as of pods.references.
function monitoring.server(object, refer, name)
  local spec = object.spec or {}
  for _, one in ipairs(pods.dependencies(object, {monitoring.template(object, name)})) do
    refer(one.kind, one.name)
  end
  for _, secret in ipairs(spec.secrets or {}) do
    refer("Secret", secret)
  end
  for _, map in ipairs(spec.configMaps or {}) do
    refer("ConfigMap", map)
  end
  monitoring.client(refer, spec.web or {})
end
