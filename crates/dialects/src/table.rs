//! The rows in the binary, read from `dialects/clients.toml`.

use std::sync::LazyLock;

use toml::de::{DeTable, DeValue};

use super::change::Step;
use super::dialect::{Excess, Limits, NamePattern, ResultLimit};
use super::version::VersionBounds;

const TEXT: &str = include_str!("../../../dialects/clients.toml");

/// A row before it is known what clients call the proxy.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) patterns: Vec<NamePattern>,
    pub(crate) version: VersionBounds,
    pub(crate) limits: Limits,
}

/// The rows in the binary. A test reads the file and says what is wrong with it.
pub(crate) fn built_in() -> &'static [Row] {
    static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| parse(TEXT).unwrap_or_default());
    &ROWS
}

fn parse(text: &str) -> Result<Vec<Row>, String> {
    let table = DeTable::parse(text).map_err(|error| error.to_string())?;
    let Some(DeValue::Array(rows)) = table.get_ref().get("row").map(|rows| rows.get_ref()) else {
        return Err("there are no rows".to_owned());
    };
    rows.iter()
        .map(|row| match row.get_ref() {
            DeValue::Table(table) => read_row(table),
            _ => Err("a row is no table".to_owned()),
        })
        .collect()
}

fn read_row(table: &DeTable<'_>) -> Result<Row, String> {
    let mut row =
        Row { name: String::new(), patterns: Vec::new(), version: VersionBounds::default(), limits: Limits::default() };
    let mut is_checked = false;
    let mut has_source = false;
    for (key, value) in table {
        let value = value.get_ref();
        let limits = &mut row.limits;
        match key.get_ref().as_ref() {
            "name" => row.name = text(value)?,
            "match" => {
                let read = |text: &String| NamePattern::parse(text).ok_or_else(|| format!("`{text}` is no pattern"));
                row.patterns = texts(value)?.iter().map(read).collect::<Result<_, _>>()?;
            }
            "version" => {
                row.version = VersionBounds::parse(&text(value)?).map_err(|_| "`version` has no bounds".to_owned())?;
            }
            "prefix" => limits.prefix = text(value)?,
            "prefix-length" => limits.prefix_length = Some(number(value)?),
            "name-length" => limits.name_length = Some(number(value)?),
            "tools" => limits.tools = Some(number(value)?),
            "description-length" => limits.description_length = Some(number(value)?),
            "schema" => limits.schema = steps(&texts(value)?)?,
            "result" => limits.result = Some(read_result(value)?),
            "checked" => is_checked = text(value)?.len() == "2026-01-01".len(),
            "source" => has_source = !texts(value)?.is_empty(),
            other => return Err(format!("unknown key `{other}`")),
        }
    }
    if row.name.is_empty() || row.patterns.is_empty() || !is_checked || !has_source {
        return Err(format!("row `{}` lacks `name`, `match`, `checked` or `source`", row.name));
    }
    Ok(row)
}

fn steps(names: &[String]) -> Result<Vec<Step>, String> {
    let step = |name: &String| Step::OF_SCHEMAS.iter().find(|(known, _)| known == name).map(|(_, step)| *step);
    let mut steps: Vec<Step> = names
        .iter()
        .map(|name| step(name).ok_or_else(|| format!("unknown step `{name}`")))
        .collect::<Result<_, _>>()?;
    steps.sort_unstable();
    Ok(steps)
}

fn read_result(value: &DeValue<'_>) -> Result<ResultLimit, String> {
    let DeValue::Table(table) = value else { return Err("`result` is no table".to_owned()) };
    let member = |name: &str| table.get(name).map(|value| value.get_ref()).ok_or_else(|| format!("no `{name}`"));
    let excess = match text(member("excess")?)?.as_str() {
        "file" => Excess::File,
        "cut" => Excess::Cut,
        other => return Err(format!("unknown excess `{other}`")),
    };
    let bytes = table.get("bytes").map(|bytes| number(bytes.get_ref())).transpose()?;
    Ok(ResultLimit { tokens: number(member("tokens")?)?, bytes, excess })
}

fn text(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        _ => Err("expected a text".to_owned()),
    }
}

fn texts(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let DeValue::Array(items) = value else { return Err("expected a list".to_owned()) };
    items.iter().map(|item| text(item.get_ref())).collect()
}

fn number(value: &DeValue<'_>) -> Result<usize, String> {
    match value {
        DeValue::Integer(integer) => integer.as_str().parse().map_err(|_| "expected a number".to_owned()),
        _ => Err("expected a number".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_binary_can_be_read_and_names_its_sources() {
        let rows = parse(TEXT).unwrap();
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["claude-code", "cursor", "vscode", "gemini-cli", "codex"]);
        assert!(parse("[[row]]\nname = \"a\"\nmatch = [\"a\"]\n").unwrap_err().contains("`source`"));
        assert!(parse("[[row]]\nnames = \"a\"\n").unwrap_err().contains("unknown key `names`"));
    }
}
