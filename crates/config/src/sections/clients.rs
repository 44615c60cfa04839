//! `clients`: what the clients of the proxy accept, beyond the rows in the binary.

use std::sync::Arc;

use crate::syntax::reader::ValueReader;
use proxy_dialects::{Dialects, Excess, Limits, NamePattern, ResultLimit, Step, VersionBounds};

/// The length of `serverName`: more would leave little for the names of tools.
const MAX_SERVER_NAME: usize = 32;

const EXCESS: [(&str, Excess); 2] = [("file", Excess::File), ("cut", Excess::Cut)];
const DIALECTS: [(&str, bool); 2] = [("auto", true), ("off", false)];

type OwnRow = (String, Vec<NamePattern>, VersionBounds, Limits);

pub(crate) fn read_clients(reader: &ValueReader) -> Option<Arc<Dialects>> {
    let mut fields = reader.fields()?;
    let is_on = fields.read("dialects", |reader| reader.choice(&DIALECTS)).unwrap_or(true);
    let server_name = fields.read("serverName", read_server_name).unwrap_or_else(|| "proxy".to_owned());
    let rows = fields.read("rows", |rows| rows.map(read_row)).unwrap_or_default();
    fields.finish();
    if !is_on {
        return Some(Dialects::off());
    }
    let rows: Vec<OwnRow> =
        rows.into_iter().map(|(name, (patterns, version, limits))| (name, patterns, version, limits)).collect();
    Some(Arc::new(Dialects::new(rows, &server_name)))
}

fn read_server_name(reader: &ValueReader) -> Option<String> {
    let name = reader.word()?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.is_empty() || name.len() > MAX_SERVER_NAME || !name.bytes().all(is_plain) {
        return reader.fail(&format!(
            "expected the name of this proxy in the clients' configs: at most {MAX_SERVER_NAME} letters, digits, `_` and `-`"
        ));
    }
    Some(name)
}

fn read_row(name: &str, reader: &ValueReader) -> Option<(Vec<NamePattern>, VersionBounds, Limits)> {
    let mut fields = reader.fields()?;
    let known = Dialects::built_in_limits(name);
    let patterns = fields.read("match", |patterns| patterns.list(read_pattern)).unwrap_or_default();
    let version = fields.read("version", read_version).unwrap_or_default();
    let used = fields.read("use", read_used);
    let is_new = known.is_none();
    let mut limits = used.or(known).unwrap_or_default();
    if let Some(tools) = fields.read("tools", ValueReader::count) {
        limits.tools = Some(tools);
    }
    if let Some(length) = fields.read("nameLength", |reader| read_least(reader, 64)) {
        limits.name_length = Some(length);
    }
    if let Some(length) = fields.read("descriptionLength", |reader| read_least(reader, 200)) {
        limits.description_length = Some(length);
    }
    if let Some(mut steps) = fields.read("schema", |steps| steps.list(|step| step.choice(&Step::OF_SCHEMAS))) {
        steps.sort_unstable();
        steps.dedup();
        limits.schema = steps;
    }
    if let Some(result) = fields.read("result", |result| read_result(result, limits.result)) {
        limits.result = Some(result);
    }
    fields.finish();
    if patterns.is_empty() && is_new && !reader.is_empty() {
        return reader.fail("missing key `match`: the names of the clients, such as `my-client*`");
    }
    Some((patterns, version, limits))
}

fn read_pattern(reader: &ValueReader) -> Option<NamePattern> {
    let text = reader.word()?;
    match NamePattern::parse(&text) {
        Some(pattern) => Some(pattern),
        None => reader.fail("expected a client's name, or its beginning and a `*`"),
    }
}

fn read_version(reader: &ValueReader) -> Option<VersionBounds> {
    match VersionBounds::parse(&reader.word()?) {
        Ok(bounds) => Some(bounds),
        Err(_) => reader.fail("expected bounds such as `>=1.2 <2`"),
    }
}

fn read_used(reader: &ValueReader) -> Option<Limits> {
    let name = reader.word()?;
    if let Some(limits) = Dialects::built_in_limits(&name) {
        return Some(limits);
    }
    let known: Vec<String> = Dialects::built_in_rows().map(|row| format!("`{row}`")).collect();
    reader.fail(&format!("no row `{name}` is built in; the rows are {}", known.join(", ")))
}

fn read_least(reader: &ValueReader, least: usize) -> Option<usize> {
    let number = reader.count()?;
    if number < least {
        return reader.fail(&format!("expected at least {least}"));
    }
    Some(number)
}

fn read_result(reader: &ValueReader, known: Option<ResultLimit>) -> Option<ResultLimit> {
    let mut fields = reader.fields()?;
    let given = fields.read("tokens", ValueReader::count);
    let tokens = given.or(known.map(|known| known.tokens));
    let bytes = fields.read("bytes", ValueReader::count).or(known.and_then(|known| bytes_of(known, given)));
    let excess = fields.read("excess", |excess| excess.choice(&EXCESS)).or(known.map(|known| known.excess));
    fields.finish();
    match tokens {
        Some(tokens) => Some(ResultLimit { tokens, bytes, excess: excess.unwrap_or(Excess::Cut) }),
        None => reader.fail("missing key `tokens`"),
    }
}

/// The bytes of a known limit, for as many tokens as are given.
fn bytes_of(known: ResultLimit, tokens: Option<usize>) -> Option<usize> {
    let bytes = known.bytes?;
    let Some(tokens) = tokens else { return Some(bytes) };
    bytes.checked_mul(tokens)?.checked_div(known.tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{errors, loaded};

    #[test]
    fn a_row_of_the_config_uses_and_changes_one_of_the_binary() {
        let config = loaded(
            "clients:\n  serverName: tools\n  rows:\n    mine:\n      match: ['mine*', other]\n      version: '<2'\n      \
             use: gemini-cli\n      tools: 20\n      result: {tokens: 8000}\n    cursor: {tools: 40}\n",
        );
        let mine = config.dialects.row_for("Mine-App", "1.9").unwrap();
        assert_eq!(&*mine.row, "mine");
        assert_eq!(mine.own_name_length(), Some(63 - "mcp_tools_".len()));
        assert_eq!(mine.limits.tools, Some(20));
        assert_eq!(mine.result(), Some(ResultLimit { tokens: 8000, bytes: None, excess: Excess::File }));
        let codex = "clients: {rows: {codex: {result: {tokens: 5000}}}}\n";
        let codex = loaded(codex).dialects.row_for("codex-mcp-client", "1").unwrap().result();
        assert_eq!(codex, Some(ResultLimit { tokens: 5000, bytes: Some(20_000), excess: Excess::Cut }));
        assert!(mine.limits.schema.contains(&Step::Refs));
        assert!(config.dialects.row_for("mine-app", "2.0").is_none());
        assert_eq!(config.dialects.row_for("cursor-vscode", "1").unwrap().limits.tools, Some(40));
        assert!(!loaded("clients: {dialects: off}\n").dialects.is_on());
        assert_eq!(loaded("mcpServers: {}\n").dialects, Dialects::built_in());
    }

    #[test]
    fn what_cannot_work_is_told_with_its_key() {
        let found = errors(
            "clients:\n  dialects: maybe\n  serverName: my proxy\n  rows:\n    a: {tools: 50}\n    b: {match: ['*x'], use: \
             gemni, schema: [reffs], nameLength: 10, result: {excess: file}, version: '2'}\n",
        );
        let all = found.join("\n");
        for text in [
            "`clients.dialects`: expected one of `auto`, `off`",
            "`clients.serverName`: expected the name of this proxy",
            "`clients.rows.a`: missing key `match`",
            "`clients.rows.b.match[0]`: expected a client's name",
            "`clients.rows.b.use`: no row `gemni` is built in; the rows are `claude-code`, `cursor`",
            "`clients.rows.b.schema[0]`: expected one of `refs`, `const`",
            "`clients.rows.b.nameLength`: expected at least 64",
            "`clients.rows.b.result`: missing key `tokens`",
            "`clients.rows.b.version`: expected bounds",
        ] {
            assert!(all.contains(text), "{text}: {all}");
        }
    }
}
