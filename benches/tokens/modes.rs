//! The four ways to offer tools to a model, each with the preset that does so.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use proxy_code_mode::typings::{identifiers, signature};
use proxy_config::{AnswerForm, Config, Embedding, Optimizer, SessionScript};
use proxy_engine::gateway::script_source;
use proxy_engine::surface::Surface;
use proxy_model::{Definition, Snapshot, SurfaceKey};
use proxy_search::{SharedIndex, estimate_tokens};
use serde_json::{Value, json};

use crate::answer;
use crate::conversation::Conversation;
use crate::tasks::{Step, Task};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All tools are listed.
    None,
    Full,
    Compact,
    /// Code mode: scripts call the tools.
    Script,
}

impl Mode {
    pub const ALL: [Mode; 4] = [Mode::None, Mode::Full, Mode::Compact, Mode::Script];

    pub fn as_str(self) -> &'static str {
        match self {
            Mode::None => "all tools listed",
            Mode::Full => "tool search, `answer: full`",
            Mode::Compact => "tool search, `answer: compact`",
            Mode::Script => "code mode",
        }
    }

    fn preset(self) -> &'static str {
        match self {
            Mode::None => "default",
            Mode::Full | Mode::Compact => "optimizer",
            Mode::Script => "code-mode",
        }
    }
}

/// What all tasks cost in one mode.
#[derive(Debug)]
pub struct Measured {
    pub mode: Mode,
    pub listed: Vec<String>,
    /// The tokens of the listed definitions.
    pub definitions: usize,
    pub conversations: Vec<Conversation>,
}

impl Measured {
    pub fn turns(&self) -> usize {
        self.conversations.iter().map(|conversation| conversation.turns).sum()
    }

    pub fn input(&self) -> usize {
        self.conversations.iter().map(|conversation| conversation.input).sum()
    }
}

pub fn measure(snapshot: &Arc<Snapshot>, tasks: &[Task]) -> Result<Vec<Measured>, String> {
    Mode::ALL.into_iter().map(|mode| measure_mode(mode, snapshot, tasks)).collect()
}

fn measure_mode(mode: Mode, snapshot: &Arc<Snapshot>, tasks: &[Task]) -> Result<Measured, String> {
    let surface = surface(mode, snapshot)?;
    let listed: Vec<String> = surface.tools().map(|tool| tool.definition.raw().get().to_owned()).collect();
    let definitions = listed.iter().map(|definition| estimate_tokens(definition)).sum();
    let model = Model { mode, index: surface.search_index(), definitions };
    let conversations = tasks.iter().map(|task| model.conversation(task)).collect::<Result<_, _>>()?;
    Ok(Measured { mode, listed, definitions, conversations })
}

fn surface(mode: Mode, snapshot: &Arc<Snapshot>) -> Result<Surface, String> {
    let answer = if mode == Mode::Full { AnswerForm::Full } else { AnswerForm::Compact };
    let config = Config {
        session: SessionScript::Preset { name: mode.preset().to_owned(), place: None },
        optimizer: Optimizer { answer, embedding: Some(Embedding::None), ..Optimizer::default() },
        ..Config::default_for(Path::new("."))
    };
    let script = script_source(&config, None).map_err(|error| error.to_string())?;
    script.build_for(snapshot, SurfaceKey::anonymous()).map_err(|error| error.diagnostic().to_string())
}

/// Whoever fulfils the tasks: a model that makes no mistakes.
struct Model {
    mode: Mode,
    index: Arc<SharedIndex>,
    definitions: usize,
}

impl Model {
    fn conversation(&self, task: &Task) -> Result<Conversation, String> {
        let mut conversation = Conversation::new(self.definitions, &task.request);
        match self.mode {
            Mode::None => {
                for step in &task.steps {
                    conversation.call(call(&self.published(step)?, &step.arguments), step.result.clone());
                }
            }
            Mode::Full | Mode::Compact => self.search_and_call(task, &mut conversation)?,
            Mode::Script => self.run_scripts(task, &mut conversation)?,
        }
        conversation.turn(task.answer.clone());
        Ok(conversation)
    }

    fn search_and_call(&self, task: &Task, conversation: &mut Conversation) -> Result<(), String> {
        let mut known: BTreeSet<String> = BTreeSet::new();
        for step in &task.steps {
            let name = self.published(step)?;
            if !known.contains(&name) {
                let answer = self.find(step, &name)?;
                let tools = answer["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
                known.extend(tools.iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned));
                let is_lossy = tools.iter().any(|tool| tool["name"] == *name && tool["lossy"] == true);
                conversation.call(call("find_tool", &json!({"tool_description": step.find})), answer.to_string());
                if is_lossy {
                    let described = json!({"tools": [self.definition(&name)], "errors": []});
                    conversation.call(call("describe_tool", &json!({"tool_names": [name]})), described.to_string());
                }
            }
            let arguments = json!({"tool_name": name, "parameters": step.arguments});
            conversation.call(call("call_tool", &arguments), step.result.clone());
        }
        Ok(())
    }

    /// One script looks for all tools, the next one calls them.
    fn run_scripts(&self, task: &Task, conversation: &mut Conversation) -> Result<(), String> {
        let mut searches: Vec<&str> = Vec::new();
        for step in &task.steps {
            self.find(step, &self.published(step)?)?;
            if !searches.contains(&step.find.as_str()) {
                searches.push(&step.find);
            }
        }
        let script: Vec<String> = searches.iter().map(|words| format!("search_tools({})", json!(words))).collect();
        let script = format!("return [{}]", script.join(", "));
        let found: Vec<Vec<Value>> = searches.iter().map(|words| self.search_tools(words)).collect();
        conversation.call(call("execute_tool_script", &json!({"script": script})), json!(found).to_string());
        conversation.call(call("execute_tool_script", &json!({"script": task.script})), task.returned.clone());
        Ok(())
    }

    /// The answer of `find_tool`. Fails if it does not have the tool: a task must not depend on luck.
    fn find(&self, step: &Step, name: &str) -> Result<Value, String> {
        let found = self.search(&step.find);
        if !found.iter().any(|definition| definition.key() == name) {
            let names: Vec<&str> = found.iter().map(|definition| definition.key()).collect();
            return Err(format!("`{}` does not find {name}, but {}", step.find, names.join(", ")));
        }
        Ok(match self.mode {
            Mode::Full => answer::full(&found),
            _ => answer::compacted(&found, Optimizer::default().max_answer_tokens),
        })
    }

    fn search(&self, words: &str) -> Vec<&Definition> {
        let index = self.index.ready();
        let hits = index.search_words(words, Optimizer::default().max_tools_to_return);
        hits.iter().map(|hit| index.tools()[hit.tool].definition.as_ref()).collect()
    }

    /// What `search_tools` returns to a script.
    fn search_tools(&self, words: &str) -> Vec<Value> {
        let found = self.search(words);
        let functions = identifiers(found.iter().map(|definition| definition.key()));
        let told = found.iter().zip(functions).map(|(definition, function)| {
            json!({"name": definition.key(), "description": definition.text("description"),
                "signature": signature(definition, function.as_deref())})
        });
        told.collect()
    }

    /// The published name of a step's tool.
    fn published(&self, step: &Step) -> Result<String, String> {
        let is_it = |tool: &&proxy_search::Tool| *tool.server == *step.server && *tool.original_name == *step.tool;
        let tool = self.index.tools().find(is_it);
        tool.map(|tool| tool.definition.key().to_owned())
            .ok_or_else(|| format!("there is no tool {}/{}", step.server, step.tool))
    }

    fn definition(&self, name: &str) -> Value {
        let tool = self.index.tools().find(|tool| tool.definition.key() == name);
        tool.and_then(|tool| serde_json::from_str(tool.definition.raw().get()).ok()).unwrap_or_default()
    }
}

fn call(name: &str, arguments: &Value) -> String {
    json!({"name": name, "arguments": arguments}).to_string()
}
