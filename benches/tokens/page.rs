//! Writes the tables into a page of the documentation.

use std::path::Path;

const BEGIN: &str = "<!-- The tables below are made by benches/tokens/run. -->\n";
const END: &str = "<!-- The tables above are made by benches/tokens/run. -->\n";

/// Replaces what stands between the two comments.
pub fn write(file: &Path, tables: &str) -> Result<(), String> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) =
        parts.ok_or_else(|| format!("{name}: the comments that mark the place of the tables are missing"))?;
    let text = format!("{before}{BEGIN}\n{tables}\n{END}{after}");
    std::fs::write(file, text).map_err(|error| format!("{name}: {error}"))
}
