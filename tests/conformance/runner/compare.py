"""What got worse between two runs of one scenario."""

RANK = {"SUCCESS": 0, "INFO": 0, "SKIPPED": 1, "WARNING": 2, "FAILURE": 3}
GONE = "GONE"

# Scenarios whose checks quote what the server behind the proxy said. The suite itself hardly looks at it.
QUOTING = (
    "tools-", "resources-", "prompts-", "completion-", "elicitation-", "json-schema-", "input-required-", "sep-2164-", "tasks-",
)
# Told by the proxy about itself, or chosen at random.
OWN_WORDS = {
    "io.modelcontextprotocol/serverInfo", "requestState", "serverUrl", "taskId", "createdAt", "lastUpdatedAt", "url",
}


def worse(direct, behind):
    """The checks that are worse behind the proxy, as (id, before, now)."""
    before, now = by_id(direct), by_id(behind)
    found = []
    for check, statuses in before.items():
        old = max(statuses, key=RANK.get)
        new = max(now[check], key=RANK.get) if check in now else GONE
        if RANK.get(new, RANK["SKIPPED"]) > RANK[old]:
            found.append((check, old, new))
    found += [(check, "nothing", "FAILURE") for check in now if check not in before and "FAILURE" in now[check]]
    return found


def by_id(checks):
    found = {}
    for check in checks:
        found.setdefault(check["id"], []).append(check["status"])
    return found


def altered(scenario, direct, behind):
    """The checks that passed both times but heard different things, as (id, before, now)."""
    if not scenario.startswith(QUOTING):
        return []
    now = {check["id"]: check for check in behind if check["status"] == "SUCCESS"}
    found = []
    for check in direct:
        other = now.get(check["id"])
        # How many messages it took is the transport's affair.
        if other is None or check["id"] == "wire-schema-valid":
            continue
        if difference := first_difference(plain(check.get("details")), plain(other.get("details"))):
            found.append((check["id"], *difference))
    return found


def plain(value):
    if isinstance(value, dict):
        members = {key: plain(member) for key, member in value.items() if key not in OWN_WORDS}
        return {key: member for key, member in members.items() if not (key == "_meta" and member == {})}
    return [plain(item) for item in value] if isinstance(value, list) else value


def first_difference(old, new):
    """The smallest part that differs, before and now; None if nothing does."""
    if old == new:
        return None
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        return next(found for key in old if (found := first_difference(old[key], new[key])))
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return next(found for pair in zip(old, new) if (found := first_difference(*pair)))
    return old, new
