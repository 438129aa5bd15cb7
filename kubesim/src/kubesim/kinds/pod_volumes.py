"""Complaints about the volumes of a pod. Kubernetes: ValidateVolumes and what it calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubesim.kinds import claims, fields, formats, pod_environment, resources
from kubesim.kinds.fields import Body, Errors

FILE_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_PATH_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)


def validate(volumes: list[Body], path: str, pod_name: str = "") -> tuple[dict[str, Body], Errors]:
    """The valid volumes by name, and all complaints. A mount of an invalid volume is told as not found."""
    known: dict[str, Body] = {}
    errors: Errors = []
    made = {f"{pod_name}-{fields.text(volume, 'name')}" for volume in volumes if volume.get("ephemeral") and pod_name}
    for at, volume in enumerate(volumes):
        here = f"{path}[{at}]"
        name = fields.text(volume, "name")
        found = _source(volume, here)
        found += (
            fields.invalid(f"{here}.name", name, *formats.dns_label(name)) if name else fields.required(f"{here}.name")
        )
        if name in known:
            found += fields.duplicate(f"{here}.name", name)
        if not found:
            known[name] = volume
        errors += found
        claim = fields.text(fields.obj(volume, "persistentVolumeClaim"), "claimName")
        if claim in made:
            errors += fields.invalid(
                f"{here}.persistentVolumeClaim.claimName",
                claim,
                "must not reference a PVC that gets created for an ephemeral volume",
            )
    return known, errors


def _source(volume: Body, path: str) -> Errors:
    errors: Errors = []
    seen = False
    for key, (shown, check) in _SOURCES.items():
        source = volume.get(key)
        if source is None:
            continue
        if seen:
            errors += fields.forbidden(f"{path}.{key}", "may not specify more than 1 volume type")
            continue
        seen = True
        errors += check(source, f"{path}.{shown}")
    return errors if seen else fields.required(path, "must specify a volume type")


def mode(source: Body, path: str, key: str = "defaultMode") -> Errors:
    """Complaints about permission bits."""
    value = source.get(key)
    return [] if value is None or 0 <= value <= 0o777 else fields.invalid(f"{path}.{key}", value, FILE_MODE)


def no_backsteps(value: str, path: str) -> Errors:
    """The path must not climb."""
    return fields.invalid(path, value, "must not contain '..'") if ".." in value.split("/") else []


def descending(value: str, path: str) -> Errors:
    """A relative path that does not climb."""
    return (fields.invalid(path, value, "must be a relative path") if value.startswith("/") else []) + no_backsteps(
        value, path
    )


def _local(value: str, path: str) -> Errors:
    errors = descending(value, path)
    if value.startswith("..") and not value.startswith("../"):
        errors += fields.invalid(path, value, "must not start with '..'")
    return errors


def _key_to_path(item: Body, path: str) -> Errors:
    errors = [] if item.get("key") else fields.required(f"{path}.key")
    errors += [] if item.get("path") else fields.required(f"{path}.path")
    return errors + _local(fields.text(item, "path"), f"{path}.path") + mode(item, path, "mode")


def _need(*keys: str) -> Callable[[Body, str], Errors]:
    def check(source: Body, path: str) -> Errors:
        return fields.joined(fields.required(f"{path}.{key}") for key in keys if not source.get(key))

    return check


def _keyed(name: str) -> Callable[[Body, str], Errors]:
    def check(source: Body, path: str) -> Errors:
        errors = _need(name)(source, path) + mode(source, path)
        for at, item in enumerate(fields.items(source, "items")):
            errors += _key_to_path(item, f"{path}.items[{at}]")
        return errors

    return check


def _empty_dir(source: Body, path: str) -> Errors:
    limit = source.get("sizeLimit")
    if limit is not None and resources.value(limit) < 0:
        return fields.forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")
    return []


def _host_path(source: Body, path: str) -> Errors:
    where = fields.text(source, "path")
    if not where:
        return fields.required(f"{path}.path")
    errors = no_backsteps(where, f"{path}.path")
    kind = source.get("type")
    if kind is not None and kind not in _HOST_PATH_TYPES:
        errors += fields.unsupported(f"{path}.type", kind, *_HOST_PATH_TYPES)
    return errors


def _git(source: Body, path: str) -> Errors:
    return _need("repository")(source, path) + descending(fields.text(source, "directory"), f"{path}.directory")


def _nfs(source: Body, path: str) -> Errors:
    errors = _need("server", "path")(source, path)
    if not fields.text(source, "path").startswith("/"):
        errors += fields.invalid(f"{path}.path", fields.text(source, "path"), "must be an absolute path")
    return errors


def _downward(source: Body, path: str) -> Errors:
    return mode(source, path) + fields.joined(downward_file(file, path) for file in fields.items(source, "items"))


def downward_file(file: Body, path: str) -> Errors:
    """Complaints about one file made of a pod's own fields; Kubernetes does not tell its place in the list."""
    where = fields.text(file, "path")
    errors = ([] if where else fields.required(f"{path}.path")) + _local(where, f"{path}.path")
    field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
    if field is not None:
        errors += pod_environment.field_reference(field, f"{path}.fieldRef", pod_environment.VOLUME_FIELDS)
        if resource is not None:
            errors += fields.invalid(
                path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"
            )
    elif resource is not None:
        errors += pod_environment.resource_reference(resource, f"{path}.resourceFieldRef", volume=True)
    else:
        errors += fields.required(path, "one of fieldRef and resourceFieldRef is required")
    return errors + mode(file, path, "mode")


def _projected(source: Body, path: str) -> Errors:
    errors = mode(source, path)
    paths: set[str] = set()
    for at, part in enumerate(fields.items(source, "sources")):
        here = f"{path}.sources[{at}]"
        for key in ("secret", "configMap"):
            if (keyed := part.get(key)) is None:
                continue
            errors += _need("name")(keyed, f"{here}.{key}")
            for index, item in enumerate(fields.items(keyed, "items")):
                errors += _key_to_path(item, f"{here}.{key}.items[{index}]")
                errors += _collision(fields.text(item, "path"), paths, path, fields.text(keyed, "name"))
        if (downward := part.get("downwardAPI")) is not None:
            for file in fields.items(downward, "items"):
                errors += downward_file(file, f"{here}.downwardAPI")
                errors += _collision(fields.text(file, "path"), paths, path, fields.text(file, "path"))
        if (token := part.get("serviceAccountToken")) is not None:
            errors += _token(token, path, f"{here}.serviceAccountToken")
        if sum(value is not None for value in part.values()) > 1:
            errors += fields.forbidden(here, "may not specify more than 1 volume type per source")
    return errors


def _collision(where: str, paths: set[str], path: str, shown: str) -> Errors:
    if where and where in paths:
        return fields.invalid(path, shown, "conflicting duplicate paths")
    paths.add(where)
    return []


def _token(token: Body, path: str, here: str) -> Errors:
    seconds = token.get("expirationSeconds") or 0
    errors: Errors = []
    if seconds < 600:
        errors += fields.invalid(
            f"{here}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes"
        )
    if seconds > 1 << 32:
        errors += fields.invalid(
            f"{here}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds"
        )
    where = fields.text(token, "path")
    return errors + (_local(where, f"{path}.path") if where else fields.required(f"{path}.path"))


def _csi(source: Body, path: str) -> Errors:
    driver = fields.text(source, "driver")
    if not driver:
        return fields.required(f"{path}.driver")
    errors = fields.too_long(f"{path}.driver", 63) if len(driver) > 63 else []
    return errors + fields.invalid(f"{path}.driver", driver, *formats.dns_subdomain(driver.lower()))


def _ephemeral(source: Body, path: str) -> Errors:
    template = source.get("volumeClaimTemplate")
    if template is None:
        return fields.required(f"{path}.volumeClaimTemplate")
    return claims.validate_spec(fields.obj(template, "spec"), f"{path}.volumeClaimTemplate.spec")


def _image(source: Body, path: str) -> Errors:
    errors = _need("reference")(source, path)
    if policy := source.get("pullPolicy"):
        errors += fields.one_of(f"{path}.pullPolicy", policy, "Always", "IfNotPresent", "Never")
    return errors


def _anything(source: Any, path: str) -> Errors:
    return []


# In the order in which Kubernetes looks at them: with two sources the second in this list is the one too many. The
# second part of a pair is the name in the path, which is not always that of the field.
_SOURCES: Final[dict[str, tuple[str, Callable[[Body, str], Errors]]]] = {
    "emptyDir": ("emptyDir", _empty_dir),
    "hostPath": ("hostPath", _host_path),
    "gitRepo": ("gitRepo", _git),
    "gcePersistentDisk": ("persistentDisk", _need("pdName")),
    "awsElasticBlockStore": ("awsElasticBlockStore", _need("volumeID")),
    "secret": ("secret", _keyed("secretName")),
    "nfs": ("nfs", _nfs),
    "iscsi": ("iscsi", _need("targetPortal", "iqn")),
    "glusterfs": ("glusterfs", _need("endpoints", "path")),
    "flocker": ("flocker", _anything),
    "persistentVolumeClaim": ("persistentVolumeClaim", _need("claimName")),
    "rbd": ("rbd", _need("monitors", "image")),
    "cinder": ("cinder", _need("volumeID")),
    "cephfs": ("cephfs", _need("monitors")),
    "quobyte": ("quobyte", _need("volume")),
    "downwardAPI": ("downwardAPI", _downward),
    "fc": ("fc", _anything),
    "flexVolume": ("flexVolume", _need("driver")),
    "configMap": ("configMap", _keyed("name")),
    "azureFile": ("azureFile", _need("secretName", "shareName")),
    "vsphereVolume": ("vsphereVolume", _need("volumePath")),
    "photonPersistentDisk": ("photonPersistentDisk", _need("pdID")),
    "portworxVolume": ("portworxVolume", _need("volumeID")),
    "azureDisk": ("azureDisk", _need("diskName", "diskURI")),
    "storageos": ("storageos", _anything),
    "projected": ("projected", _projected),
    "scaleIO": ("scaleIO", _need("gateway", "system", "volumeName")),
    "csi": ("csi", _csi),
    "ephemeral": ("ephemeral", _ephemeral),
    "image": ("image", _image),
}
