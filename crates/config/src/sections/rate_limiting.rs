//! `rateLimiting`: limits on the use of tools, prompts and resources.

use std::time::Duration;

use serde_json::{Value, json};

use crate::syntax::reader::ValueReader;
use proxy_base::diagnostic::{Diagnostic, Severity};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RateLimiting {
    /// For all users together.
    pub global: Option<Rate>,
    pub per_user: Option<Rate>,
    pub tools: Vec<ItemRate>,
    pub prompts: Vec<ItemRate>,
    pub resources: Vec<ItemRate>,
}

/// A token bucket that refills evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub max_tokens: usize,
    pub refill_period: Duration,
}

/// An additional limit for one tool, prompt or resource.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemRate {
    /// The published name or URI, or a glob.
    pub name: String,
    pub global: Option<Rate>,
    pub per_user: Option<Rate>,
    /// The warning if nothing is published under this name.
    pub unmatched: Diagnostic,
}

impl RateLimiting {
    /// The value of `config()["rateLimiting"]` in scripts.
    pub fn to_json(&self) -> Value {
        let items = |items: &[ItemRate]| -> Vec<Value> {
            let to_json = |item: &ItemRate| json!({"name": item.name, "global": rate(item.global), "perUser": rate(item.per_user)});
            items.iter().map(to_json).collect()
        };
        json!({
            "global": rate(self.global),
            "perUser": rate(self.per_user),
            "tools": items(&self.tools),
            "prompts": items(&self.prompts),
            "resources": items(&self.resources),
        })
    }
}

fn rate(rate: Option<Rate>) -> Option<Value> {
    rate.map(|rate| {
        let seconds = match rate.refill_period.subsec_nanos() {
            0 => json!(rate.refill_period.as_secs()),
            _ => json!(rate.refill_period.as_secs_f64()),
        };
        json!({"maxTokens": rate.max_tokens, "refillPeriod": seconds})
    })
}

pub(crate) fn read_rate_limiting(reader: &ValueReader) -> Option<RateLimiting> {
    let mut fields = reader.fields()?;
    let global = fields.read("global", read_rate);
    let per_user = fields.read("perUser", read_rate);
    let [tools, prompts, resources] = ["tools", "prompts", "resources"]
        .map(|key| fields.read(key, |reader| reader.list(read_item)).unwrap_or_default());
    fields.finish();
    Some(RateLimiting { global, per_user, tools, prompts, resources })
}

fn read_item(reader: &ValueReader) -> Option<ItemRate> {
    let mut fields = reader.fields()?;
    let name = fields.get("name");
    let [global, per_user] = ["global", "perUser"].map(|key| fields.get(key));
    fields.finish();
    if global.is_none() && per_user.is_none() {
        return reader.fail("missing key `global` or `perUser`, such as `{ maxTokens: 5, refillPeriod: 1m }`");
    }
    let Some(name) = name else { return reader.fail("missing key `name` (name, URI or glob)") };
    let [global, per_user] = [global, per_user].map(|rate| rate.and_then(|rate| read_rate(&rate)));
    let mut unmatched = name.problem("nothing is published under this name").rule("unmatched-pattern");
    unmatched.severity = Severity::Warning;
    Some(ItemRate { name: name.word()?, global, per_user, unmatched })
}

fn read_rate(reader: &ValueReader) -> Option<Rate> {
    const MAX_TOKENS: usize = 1_000_000_000;
    const MAX_PERIOD: Duration = Duration::from_secs(366 * 24 * 3600);
    let mut fields = reader.fields()?;
    let [tokens, period] = ["maxTokens", "refillPeriod"].map(|key| fields.get(key));
    fields.finish();
    let Some(tokens) = tokens else { return reader.fail("missing key `maxTokens` (size of the token bucket)") };
    let Some(period) = period else { return reader.fail("missing key `refillPeriod` (time to refill the bucket)") };
    let max_tokens = tokens.count().and_then(|count| {
        if count <= MAX_TOKENS { Some(count) } else { tokens.expected(&format!("an integer of at most {MAX_TOKENS}")) }
    });
    let refill_period = period
        .timeout()
        .and_then(|time| if time <= MAX_PERIOD { Some(time) } else { period.expected("a duration of at most a year") });
    Some(Rate { max_tokens: max_tokens?, refill_period: refill_period? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{errors, loaded};

    #[test]
    fn a_script_sees_every_key_and_periods_in_seconds() {
        let nothing = json!({"global": null, "perUser": null, "tools": [], "prompts": [], "resources": []});
        assert_eq!(RateLimiting::default().to_json(), nothing);
        let config = loaded(
            "rateLimiting:\n  perUser: {maxTokens: 100, refillPeriod: 1m}\n  \
             tools: [{name: 'new_*', global: {maxTokens: 5, refillPeriod: 1500ms}}]\n",
        );
        let seen = config.rate_limiting.to_json();
        assert_eq!(seen["perUser"], json!({"maxTokens": 100, "refillPeriod": 60}));
        assert_eq!(
            seen["tools"],
            json!([{"name": "new_*", "global": {"maxTokens": 5, "refillPeriod": 1.5}, "perUser": null}])
        );
        assert_eq!(config.set_sections[0].name, "rateLimiting");
    }

    #[test]
    fn what_limits_nothing_is_told() {
        let found = errors(
            "rateLimiting:\n  global: {maxTokens: 0, refillPeriod: 1x}\n  perUser: {maxTokens: 5}\n  peruser: {}\n  \
             tools:\n  - {name: a}\n  - {global: {maxTokens: 1, refillPeriod: 5}}\n  - {name: a, global: {refillPeriod: 1m}}\n",
        );
        assert_eq!(
            found,
            [
                "2:23 `rateLimiting.global.maxTokens`: expected an integer of at least 1, found `0`",
                "2:40 `rateLimiting.global.refillPeriod`: expected a duration such as `250ms`, `30s`, `5m` or `2h`, found `1x`",
                "3:12 `rateLimiting.perUser`: missing key `refillPeriod` (time to refill the bucket)",
                "4:3 unknown key `rateLimiting.peruser` (did you mean `perUser`?)",
                "6:5 `rateLimiting.tools[0]`: missing key `global` or `perUser`, such as `{ maxTokens: 5, \
                 refillPeriod: 1m }`",
                "7:5 `rateLimiting.tools[1]`: missing key `name` (name, URI or glob)",
                "8:23 `rateLimiting.tools[2].global`: missing key `maxTokens` (size of the token bucket)",
            ]
        );
    }
}
