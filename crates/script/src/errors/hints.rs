//! Hints for errors of the engine, mostly for people who expect Python.

/// The message for what the engine calls `Immutable`.
pub(super) const FROZEN: &str =
    "this value is frozen: a script's values cannot change once it has run; keep changing values in `state`";

/// The hint for an error of the engine, from its message, the text it points at, and the line of that text.
pub(super) fn hint(message: &str, pointed_at: &str, line: &str) -> Option<String> {
    if let Some(keyword) = between(message, "cannot use reserved keyword `", "`") {
        return reserved(keyword);
    }
    if message == FROZEN {
        return Some("`state.set(key, value)` and `state.incr(key)` keep a value between calls; for this call alone, copy it first: `dict(x)`, `list(x)`".into());
    }
    if message.starts_with("Unsupported format character") || message.contains("Incomplete format") {
        return Some("`%` does not support width and precision; round first: `str(int(x * 100 + 0.5) / 100.0)`".into());
    }
    if let Some(name) = between(message, "Local variable `", "` referenced before assignment") {
        return Some(format!(
            "`{name}` is assigned somewhere in this function or file, so it is a variable throughout; if you mean the built-in, rename the variable"
        ));
    }
    if message.starts_with("Operation `call()` not supported") {
        let name = pointed_at.split('(').next().unwrap_or_default().trim();
        let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        return is_name
            .then(|| format!("`{name}` holds a value here; if you mean the built-in function, rename the variable"));
    }
    if message.starts_with("Operation `+` not supported") && message.contains("`string`") {
        return Some("`str(x)` converts a value to text".into());
    }
    if message.starts_with("Object of type `NoneType` has no attribute") {
        return Some("it is None here; test `x != None` first, or use a default: `d.get(key, {})`".into());
    }
    if message.starts_with("Parse error") && looks_like_generator(line) {
        return Some("Starlark has no generator expressions; write a list: `[x for x in items]`".into());
    }
    None
}

fn reserved(keyword: &str) -> Option<String> {
    Some(
        match keyword {
            "while" => "Starlark has no `while`; loop over a bounded range: `for i in range(1000):` with `break`",
            "try" | "except" | "raise" | "finally" => {
                "Starlark has no exceptions; `attempt(f, args)` gives a struct with `ok`, `value` and `error`, `fail(text)` raises"
            }
            "class" => "Starlark has no classes; use `struct(...)`, dicts and functions",
            "import" | "from" => {
                "Starlark has no imports: `json`, `re`, `math` and `time` are built in, and `load(\"//file.star\", \"name\")` \
                 loads from a file"
            }
            "is" => "use `==`; to test for None: `x == None`",
            "yield" | "async" | "await" => "Starlark has no generators and no async; return a list",
            "with" => "Starlark has no `with`",
            "del" => "use `d.pop(key)`",
            "assert" => "use `if not ...: fail(\"...\")`",
            "global" | "nonlocal" => "a function cannot assign outer variables; return the value",
            _ => return None,
        }
        .to_owned(),
    )
}

fn looks_like_generator(line: &str) -> bool {
    let Some(position) = line.find(" for ") else { return false };
    line[position..].contains(" in ") && line[..position].contains('(') && !line.trim_start().starts_with("for ")
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = &text[text.find(before)? + before.len()..];
    rest.find(after).map(|end| &rest[..end])
}
