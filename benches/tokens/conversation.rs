//! The tokens that a model reads in the turns of a conversation.

use proxy_search::estimate_tokens;

/// A conversation about one task. Every turn sends the definitions and all that was said so far.
#[derive(Debug)]
pub struct Conversation {
    definitions: usize,
    said: usize,
    pub turns: usize,
    pub input: usize,
    /// Every text of the conversation, once.
    pub texts: Vec<String>,
}

impl Conversation {
    pub fn new(definitions: usize, request: &str) -> Self {
        let mut conversation = Conversation { definitions, said: 0, turns: 0, input: 0, texts: Vec::new() };
        conversation.say(request.to_owned());
        conversation
    }

    /// The model reads everything, and calls a tool, which returns this.
    pub fn call(&mut self, call: String, result: String) {
        self.turn(call);
        self.say(result);
    }

    /// The model reads everything, and answers.
    pub fn turn(&mut self, output: String) {
        self.turns += 1;
        self.input += self.definitions + self.said;
        self.say(output);
    }

    fn say(&mut self, text: String) {
        self.said += estimate_tokens(&text);
        self.texts.push(text);
    }
}
