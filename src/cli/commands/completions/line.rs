//! An incomplete command line: its words, and the candidates for its end.

use clap::{Arg, ArgAction, Command, FromArgMatches};

use super::values::{Candidate, NameKind};
use crate::cli::setup::SourceArgs;
use proxy_model::ItemKind;

/// The words up to the cursor. The last one is being typed and may be empty.
#[derive(Debug, PartialEq)]
pub(super) struct CommandLine {
    words: Vec<String>,
    /// The quote that is open at the cursor.
    quote: Option<char>,
    /// The positions of quoted or escaped characters in the last word, which are not word breaks.
    literal: Vec<usize>,
}

/// The candidates for the end of a line.
#[derive(Debug, PartialEq)]
pub(super) enum Wanted {
    Files,
    Known(Vec<Candidate>),
    /// Names of this kind, behind a prefix such as `--option=`.
    Items {
        prefix: String,
        kind: NameKind,
    },
    /// `NAME=VALUE` arguments of an item.
    Arguments {
        kind: ItemKind,
        item: String,
    },
}

impl CommandLine {
    pub(super) fn of_words(words: &[String]) -> Self {
        CommandLine { words: words.to_vec(), quote: None, literal: Vec::new() }
    }

    /// Splits a text as a shell does, without expanding anything.
    pub(super) fn split(text: &str) -> Self {
        let mut words: Vec<String> = Vec::new();
        let mut word: Option<String> = None;
        let mut quote: Option<char> = None;
        let mut literal = Vec::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match (quote, character) {
                (None, ' ' | '\t' | '\n') => {
                    words.extend(word.take());
                    literal.clear();
                }
                (None, '"' | '\'') => {
                    quote = Some(character);
                    word.get_or_insert_default();
                }
                (Some(open), character) if open == character => quote = None,
                (None | Some('"'), '\\') => {
                    let word = word.get_or_insert_default();
                    literal.push(word.len());
                    word.extend(characters.next());
                }
                _ => {
                    let word = word.get_or_insert_default();
                    if quote.is_some() {
                        literal.push(word.len());
                    }
                    word.push(character);
                }
            }
        }
        words.push(word.unwrap_or_default());
        // Variable assignments may precede the command.
        let is_assignment = |word: &String| {
            word.split_once('=').is_some_and(|(name, _)| name.chars().all(|part| part.is_alphanumeric() || part == '_'))
        };
        let start = words.iter().take_while(|word| is_assignment(word)).count().min(words.len() - 1);
        CommandLine { words: words.split_off(start), quote, literal }
    }

    fn current(&self) -> &str {
        self.words.last().map_or("", String::as_str)
    }

    fn before(&self) -> &[String] {
        self.words.split_last().map_or(&[], |(_, before)| before)
    }

    /// The options on the line that select servers and script.
    pub(super) fn source(&self) -> SourceArgs {
        let command = crate::cli::command();
        let parsed = command.clone().ignore_errors(true).try_get_matches_from(self.before()).ok();
        let Some((name, matches)) = parsed.as_ref().and_then(clap::ArgMatches::subcommand) else {
            return SourceArgs::default();
        };
        let has = |id: &str| {
            let subcommand = command.find_subcommand(name);
            subcommand.is_some_and(|subcommand| subcommand.get_arguments().any(|argument| argument.get_id() == id))
        };
        if has("script") && has("servers") {
            return SourceArgs::from_arg_matches(matches).unwrap_or_default();
        }
        // `login` and `logout` have nothing to do with scripts.
        let config = if has("config") {
            matches.get_many("config").into_iter().flatten().cloned().collect()
        } else {
            Vec::new()
        };
        let servers = if has("servers") {
            matches.get_many("servers").into_iter().flatten().cloned().collect()
        } else {
            Vec::new()
        };
        SourceArgs::of_servers(config, servers)
    }

    pub(super) fn wanted(&self) -> Wanted {
        let mut root = crate::cli::command();
        root.build();
        let (mut command, mut positional, mut only_values) = (&root, Vec::new(), false);
        let mut value_of: Option<&Arg> = None;
        for word in self.before().iter().skip(1) {
            if value_of.take().is_some() {
                continue;
            }
            if !only_values && word == "--" {
                only_values = true;
            } else if !only_values && word.len() > 1 && word.starts_with('-') {
                value_of =
                    option(command, word).filter(|_| !word.contains('=')).filter(|option| requires_value(option));
            } else if let Some(inner) = command.find_subcommand(word).filter(|_| positional.is_empty()) {
                command = inner;
            } else {
                positional.push(word);
            }
        }
        let current = self.current();
        if let Some(option) = value_of {
            return values(command, option, "");
        }
        if !only_values && current.starts_with('-') {
            return match current.split_once('=') {
                Some((name, _)) => option(command, name)
                    .map_or(Wanted::Known(Vec::new()), |option| values(command, option, &format!("{name}="))),
                None => Wanted::Known(options(command)),
            };
        }
        let inner: Vec<Candidate> = command
            .get_subcommands()
            .filter(|inner| !inner.is_hide_set() && positional.is_empty())
            .map(|inner| Candidate::new(inner.get_name(), &help(inner.get_about())))
            .collect();
        if !inner.is_empty() {
            return Wanted::Known(inner);
        }
        let repeated = |argument: &&Arg| argument.get_num_args().is_some_and(|number| number.max_values() > 1);
        let visible = || command.get_positionals().filter(|argument| !argument.is_hide_set());
        let argument = visible().nth(positional.len()).or_else(|| visible().last().filter(repeated));
        match (argument, positional.first()) {
            (Some(argument), Some(item)) if value_name(argument) == "NAME=VALUE" => {
                let kind = if command.get_name() == "prompt" { ItemKind::Prompt } else { ItemKind::Tool };
                Wanted::Arguments { kind, item: item.to_string() }
            }
            (Some(argument), _) => values(command, argument, ""),
            (None, _) => Wanted::Known(Vec::new()),
        }
    }

    /// Whether an argument `NAME=VALUE` of this name is already there.
    pub(super) fn has_argument(&self, name: &str) -> bool {
        self.before().iter().any(|word| word.split_once('=').is_some_and(|(given, _)| given == name))
    }

    /// The text by which bash completes the last word to a candidate; `None` if the candidate does not match the typed text.
    /// Bash replaces only the part after the last of its word breaks.
    pub(super) fn bash_text(&self, candidate: &str, breaks: &str) -> Option<String> {
        let current = self.current();
        if !candidate.starts_with(current) {
            return None;
        }
        match self.quote {
            // Within quotes, all characters are literal except these.
            Some(quote) => (!candidate.contains([quote, '$', '`', '\\', '!'])).then(|| candidate.to_owned()),
            None => {
                let is_break = |(at, part): &(usize, char)| breaks.contains(*part) && !self.literal.contains(at);
                let last = current.char_indices().rev().find(is_break);
                let kept = last.map_or(0, |(at, part)| at + part.len_utf8());
                Some(escaped(&candidate[kept..]))
            }
        }
    }
}

fn escaped(text: &str) -> String {
    let is_plain = |part: char| part.is_alphanumeric() || "_-./:@%+,=".contains(part);
    text.chars().flat_map(|part| (!is_plain(part)).then_some('\\').into_iter().chain([part])).collect()
}

fn option<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    match word.strip_prefix("--") {
        Some(long) => {
            let name = long.split('=').next().unwrap_or_default();
            command.get_arguments().find(|option| option.get_long() == Some(name))
        }
        None => command.get_arguments().find(|option| option.get_short() == word.chars().nth(1)),
    }
}

fn requires_value(option: &Arg) -> bool {
    let takes = matches!(option.get_action(), ArgAction::Set | ArgAction::Append);
    takes && option.get_num_args().is_none_or(|number| number.min_values() > 0)
}

fn options(command: &Command) -> Vec<Candidate> {
    let visible = command.get_arguments().filter(|option| !option.is_hide_set());
    visible
        .filter_map(|option| Some(Candidate::new(format!("--{}", option.get_long()?), &help(option.get_help()))))
        .collect()
}

fn help(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

fn values(command: &Command, argument: &Arg, prefix: &str) -> Wanted {
    let possible = argument.get_possible_values();
    if !possible.is_empty() {
        let shown = possible.iter().filter(|value| !value.is_hide_set());
        let candidate = |value: &clap::builder::PossibleValue| {
            Candidate::new(format!("{prefix}{}", value.get_name()), &help(value.get_help()))
        };
        return Wanted::Known(shown.map(candidate).collect());
    }
    let kind = match (command.get_name(), value_name(argument).as_str()) {
        ("show-preset", "NAME") => NameKind::Preset,
        ("explain", "NAME") => NameKind::OfferedOrPublished,
        (_, "TOOL") => NameKind::Item(ItemKind::Tool),
        (_, "URI") => NameKind::Item(ItemKind::Resource),
        (_, "PROMPT") => NameKind::Item(ItemKind::Prompt),
        ("login" | "logout", "SERVER") => NameKind::RemoteServer,
        (_, "SERVER") => NameKind::Server,
        (_, "FILE" | "FILES" | "PATH" | "DIR" | "SCRIPT") => return Wanted::Files,
        _ => return Wanted::Known(Vec::new()),
    };
    Wanted::Items { prefix: prefix.to_owned(), kind }
}

/// The name of a value in the help: `TOOL`, `FILE`.
fn value_name(argument: &Arg) -> String {
    let written = argument.get_value_names().and_then(<[_]>::first);
    written.map_or_else(|| argument.get_id().as_str().to_uppercase(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        match CommandLine::split(text).wanted() {
            Wanted::Known(known) => known.into_iter().map(|candidate| candidate.value).collect(),
            Wanted::Files => vec!["files".to_owned()],
            Wanted::Items { prefix, kind } => vec![format!("{prefix}{kind:?}")],
            Wanted::Arguments { kind, item } => vec![format!("{kind:?} {item}")],
        }
    }

    #[test]
    fn a_line_says_what_can_stand_at_its_end() {
        for (text, expected) in [
            ("proxy call ", "Item(Tool)"),
            ("X=1 proxy call ec", "Item(Tool)"),
            ("proxy --log debug call --config x.yaml --json ", "Item(Tool)"),
            ("proxy call -- ", "Item(Tool)"),
            ("proxy call --json echo te", "Tool echo"),
            ("proxy call echo a=1 b=", "Tool echo"),
            ("proxy prompt greet ", "Prompt greet"),
            ("proxy read ", "Item(Resource)"),
            ("proxy prompt ", "Item(Prompt)"),
            ("proxy list-tools ", "Server"),
            ("proxy login --no-browser ", "RemoteServer"),
            ("proxy logout ", "RemoteServer"),
            ("proxy show-preset ", "Preset"),
            ("proxy explain ", "OfferedOrPublished"),
            ("proxy check ", "files"),
            ("proxy check a.star b", "files"),
            ("proxy call --config ", "files"),
            ("proxy call --config=", "files"),
        ] {
            assert_eq!(names(text), [expected], "{text}");
        }
        assert!(names("proxy ca").contains(&"call".to_owned()));
        assert!(names("proxy call --").contains(&"--config".to_owned()));
        assert!(names("proxy types --lang ").contains(&"ts".to_owned()));
        assert!(names("proxy types --lang=").contains(&"--lang=ts".to_owned()));
        assert!(names("proxy completions ").contains(&"bash".to_owned()));
        assert_eq!(names("proxy list-tools one "), [""; 0]);
    }

    #[test]
    fn bash_gets_what_it_can_insert() {
        let text = |line: &str, candidate: &str| CommandLine::split(line).bash_text(candidate, " \t\n\"'><=;|&(:");
        assert_eq!(text("proxy call ec", "echo").as_deref(), Some("echo"));
        assert_eq!(text("proxy call se", "echo"), None);
        assert_eq!(text("proxy call ", "two words; rm $x").as_deref(), Some("two\\ words\\;\\ rm\\ \\$x"));
        assert_eq!(text("proxy call \"two w", "two words").as_deref(), Some("two words"));
        assert_eq!(text("proxy call two\\ w", "two words").as_deref(), Some("two\\ words"));
        assert_eq!(text("proxy call \"t", "t$(x)"), None);
        assert_eq!(text("proxy read test://a", "test://abc").as_deref(), Some("//abc"));
        assert_eq!(text("proxy types --lang=t", "--lang=ts").as_deref(), Some("ts"));
    }

    #[test]
    fn the_config_that_the_line_names_is_used() {
        let source = CommandLine::split("proxy call --config other.yaml ").source();
        assert_eq!(source.config, [std::path::PathBuf::from("other.yaml")]);
        assert!(CommandLine::split("proxy show-preset ").source().config.is_empty());
        let source = CommandLine::split("proxy login --config other.yaml --server a=http://h/ ").source();
        assert_eq!(source.config, [std::path::PathBuf::from("other.yaml")]);
    }
}
