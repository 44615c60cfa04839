//! Short descriptions of tools for a model: signatures and first sentences, within a budget of tokens.

use serde_json::{Value as Json, json};

use proxy_code_mode::typings::SignatureParts;
use proxy_model::Definition;
use proxy_search::estimate_tokens;

/// A tool in a compact answer.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactTool {
    pub name: String,
    pub signature: String,
    /// Empty if the tool has none, or if there was no room for it.
    pub description: String,
    /// Whether a parameter, a member of an object or a literal is not shown.
    pub is_lossy: bool,
}

impl CompactTool {
    pub fn to_json(&self) -> Json {
        let mut tool = json!({"name": self.name, "signature": self.signature, "description": self.description});
        if self.is_lossy {
            tool["lossy"] = json!(true);
        }
        tool
    }
}

/// The tools, best first, as far as they have room. What does not fit is left out in this order: optional parameters, from
/// the end of the longest signature; output types; descriptions in the lower half; tools, from the end. The first tool and
/// required parameters are always there.
pub fn compact<'a>(tools: impl Iterator<Item = &'a Definition>, max_tokens: Option<usize>) -> Vec<CompactTool> {
    let mut answer =
        Answer { tools: tools.map(FittedTool::of).collect(), max_tokens: max_tokens.unwrap_or(usize::MAX) };
    answer.fit();
    answer.tools.iter().map(FittedTool::shown).collect()
}

/// The name and the signature of one tool, without optional parameters and output type as far as they have no room.
pub(super) fn compact_signature(tool: &Definition, max_tokens: Option<usize>) -> String {
    let mut fitted = FittedTool::of(tool);
    fitted.parts.description.clear();
    fitted.measure();
    // Only the text counts, without the members of an answer.
    let text = estimate_tokens(&fitted.text());
    let members = fitted.tokens.saturating_sub(text);
    let mut answer = Answer { max_tokens: max_tokens.map_or(usize::MAX, |limit| limit + members), tools: vec![fitted] };
    answer.fit();
    answer.tools.first().map(FittedTool::text).unwrap_or_default()
}

struct Answer {
    tools: Vec<FittedTool>,
    max_tokens: usize,
}

impl Answer {
    fn fit(&mut self) {
        if self.fits() {
            return;
        }
        self.tools.iter_mut().for_each(FittedTool::add_up);
        while let Some(longest) = self.longest(|tool| tool.optional > 0) {
            longest.drop_parameter();
            if self.fits() {
                return;
            }
        }
        self.tools.iter_mut().for_each(FittedTool::measure);
        while let Some(longest) = self.longest(|tool| tool.with_output && tool.parts.output.is_some()) {
            longest.with_output = false;
            longest.measure();
            if self.fits() {
                return;
            }
        }
        for position in (self.tools.len().div_ceil(2)..self.tools.len()).rev() {
            let tool = &mut self.tools[position];
            tool.parts.description.clear();
            tool.measure();
            if self.fits() {
                return;
            }
        }
        while self.tools.len() > 1 && !self.fits() {
            self.tools.pop();
        }
    }

    fn fits(&self) -> bool {
        self.tools.iter().map(|tool| tool.tokens).sum::<usize>() <= self.max_tokens
    }

    /// The longest of these tools; the last one if several are equally long.
    fn longest(&mut self, is_eligible: impl Fn(&FittedTool) -> bool) -> Option<&mut FittedTool> {
        self.tools.iter_mut().filter(|tool| is_eligible(tool)).max_by_key(|tool| tool.tokens)
    }
}

/// A tool, and how much of it is shown.
struct FittedTool {
    name: String,
    parts: SignatureParts,
    /// The number of optional parameters that are shown.
    optional: usize,
    with_output: bool,
    /// The cost of what is shown. Slightly too high while parameters are being dropped, because the cost of a text is less
    /// than the sum of its parts.
    tokens: usize,
}

impl FittedTool {
    fn of(tool: &Definition) -> Self {
        let parts = SignatureParts::of(tool);
        let optional = parts.optional.len();
        let mut fitted = FittedTool { name: tool.key().to_owned(), parts, optional, with_output: true, tokens: 0 };
        fitted.measure();
        fitted
    }

    fn measure(&mut self) {
        // The comma after it costs a token at most.
        self.tokens = 1 + estimate_tokens(&self.shown().to_json().to_string());
    }

    /// Adds up the cost of all parts, from which that of a parameter can be subtracted. Measuring the rest again for each
    /// of thousands of parameters would take too long.
    fn add_up(&mut self) {
        let optional = std::mem::take(&mut self.optional);
        self.measure();
        self.optional = optional;
        self.tokens += self.parts.optional.iter().map(|parameter| parameter_cost(parameter)).sum::<usize>();
    }

    /// Leaves out the last optional parameter.
    fn drop_parameter(&mut self) {
        self.optional -= 1;
        self.tokens = self.tokens.saturating_sub(parameter_cost(&self.parts.optional[self.optional]));
    }

    fn text(&self) -> String {
        format!("{}{}", self.name, self.parts.text(self.optional, self.with_output))
    }

    fn shown(&self) -> CompactTool {
        let hides_output = self.parts.output.is_some() && !self.with_output;
        CompactTool {
            name: self.name.clone(),
            signature: self.parts.text(self.optional, self.with_output),
            description: self.parts.description.clone(),
            is_lossy: self.parts.has_omitted || self.optional < self.parts.optional.len() || hides_output,
        }
    }
}

/// The cost of a parameter and the comma before it, in JSON.
fn parameter_cost(parameter: &str) -> usize {
    1 + estimate_tokens(Json::from(parameter).to_string().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_model::ItemKind;

    fn tool(name: &str, optional: usize, output: bool) -> Definition {
        let mut properties = json!({"id": {"type": "integer"}});
        for number in 0..optional {
            properties[format!("option_number_{number}")] = json!({"type": "string"});
        }
        let schema = json!({"type": "object", "properties": properties, "required": ["id"]});
        let mut tool = json!({"name": name, "description": "Does one thing. And more.", "inputSchema": schema});
        if output {
            let ten = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
            tool["outputSchema"] = json!({"properties": {"kind": {"enum": ten}}});
        }
        Definition::parse(ItemKind::Tool, proxy_json::raw(&tool)).unwrap()
    }

    fn shown(tools: &[Definition], max_tokens: usize) -> Vec<CompactTool> {
        compact(tools.iter(), Some(max_tokens))
    }

    fn cost(tools: &[CompactTool]) -> usize {
        estimate_tokens(&Json::from_iter(tools.iter().map(CompactTool::to_json)).to_string())
    }

    #[test]
    fn what_fits_is_whole() {
        let tools = [tool("first", 2, true), tool("second", 0, false)];
        let all = compact(tools.iter(), None);
        assert_eq!(all, shown(&tools, 1_000));
        assert!(
            all[0].signature.starts_with("(id: int, option_number_0?: str, option_number_1?: str) -> {kind?: \"a\"")
        );
        assert_eq!(
            all[1].to_json(),
            json!({"name": "second", "signature": "(id: int)", "description": "Does one thing."})
        );
    }

    #[test]
    fn things_go_in_order_and_the_budget_holds() {
        let tools: Vec<Definition> =
            (0..4).map(|number| tool(&format!("tool_{number}"), 5 * (4 - number), true)).collect();
        let whole = cost(&compact(tools.iter(), None));
        let mut before = usize::MAX;
        let mut fewest = usize::MAX;
        for budget in (30..=whole).rev() {
            let answer = shown(&tools, budget);
            let spent = cost(&answer);
            assert!(spent <= budget || answer.len() == 1, "{spent} of {budget}: {answer:?}");
            let has_parameters = answer.iter().any(|tool| tool.signature.contains("option"));
            let outputs = answer.iter().filter(|tool| tool.signature.contains("->")).count();
            let described = answer.iter().filter(|tool| !tool.description.is_empty()).count();
            assert!(outputs == 4 || !has_parameters, "{answer:?}");
            assert!(described == 4 || outputs == 0, "{answer:?}");
            assert!(answer.len() == 4 || described <= 2, "{answer:?}");
            assert!(answer.iter().all(|tool| tool.signature.starts_with("(id: int")), "{answer:?}");
            assert!(answer.iter().all(|tool| tool.is_lossy == (outputs < 4 || tool.signature.contains("..."))));
            assert!(answer.len() <= fewest && !answer[0].description.is_empty());
            fewest = answer.len();
            before = before.min(spent);
        }
        assert_eq!(fewest, 1);
        assert!(before < whole / 8, "{before} of {whole}");
    }

    #[test]
    fn the_longest_signature_is_shortened_first() {
        let tools = [tool("long", 40, false), tool("short", 2, false)];
        let answer = shown(&tools, 150);
        assert!(answer[0].is_lossy && answer[0].signature.ends_with(", ...)"), "{answer:?}");
        assert!(!answer[1].is_lossy && answer[1].signature.contains("option_number_1"), "{answer:?}");
    }

    #[test]
    fn thousands_of_parameters_are_dropped_in_no_time() {
        let begin = std::time::Instant::now();
        let answer = shown(&[tool("huge", 20_000, false)], 200);
        assert!(cost(&answer) <= 200 && answer[0].signature.contains("option_number_0"));
        assert!(begin.elapsed() < std::time::Duration::from_secs(10), "{:?}", begin.elapsed());
    }
}
