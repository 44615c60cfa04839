"""The differences of two records, field by field."""

from dataclasses import dataclass

ABSENT = "(absent)"


@dataclass(frozen=True)
class Difference:
    """One field of one step. `path` names it, as in `result.tools[add].title`."""

    step: str
    path: str
    direct: str
    behind: str


def of(direct, behind):
    """All differences between two runs of the same steps."""
    found = []
    for step in {**direct, **behind}:
        one, other = fields(direct.get(step, {})), fields(behind.get(step, {}))
        for path in {**one, **other}:
            values = one.get(path, ABSENT), other.get(path, ABSENT)
            if values[0] != values[1]:
                found.append(Difference(step, path, *values))
    return found


def fields(record):
    """The leaves of a record by path. Empty objects and lists are leaves, too."""
    found = {}

    def walk(path, value):
        if isinstance(value, dict) and value:
            for key, member in value.items():
                walk(f"{path}.{key}" if path else key, member)
        elif isinstance(value, list) and value:
            for key, member in zip(keys(value), value):
                walk(f"{path}[{key}]", member)
        else:
            found[path] = repr(value)

    walk("", record)
    return found


def keys(items):
    """Items of a list are told apart by their names where they have any, so that one more does not shift the rest."""
    names = [isinstance(item, dict) and (item.get("name") or item.get("uriTemplate") or item.get("uri")) for item in items]
    if all(names) and len(set(names)) == len(names):
        return names
    return range(len(items))
