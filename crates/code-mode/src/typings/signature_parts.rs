//! A tool's signature in parts, so that an answer with a limited size can leave some of them out.

use std::collections::HashSet;

use indexmap::IndexSet;
use serde_json::Value;

use super::shape::{ObjectField, SchemaShape, Type};
use super::star::{StarlarkWriter, first_sentence};
use proxy_model::Definition;

/// The parts of a signature without a name, such as `(owner: str, labels?: list[str]) -> {number: int}`.
#[derive(Clone, Debug)]
pub struct SignatureParts {
    pub required: Vec<String>,
    pub optional: Vec<String>,
    /// The type of the structured result as its server sends it; `None` if the tool has no output schema.
    pub output: Option<String>,
    /// The first sentence of the tool's description.
    pub description: String,
    /// Whether the schemas name a parameter, a member of an object or a literal that no part shows.
    pub has_omitted: bool,
}

impl SignatureParts {
    pub fn of(tool: &Definition) -> Self {
        let schema = tool.member("inputSchema").unwrap_or_default();
        let input = SchemaShape::of(&schema);
        let mut parameters = Parameters::of(&schema);
        let mut writer = StarlarkWriter::new(&input);
        parameters.read(&input.kind, &input, &mut writer);
        parameters.add_undescribed();
        let mut has_omitted = input.is_partial || writer.has_omitted;
        let output = tool.member("outputSchema").map(|schema| {
            let shape = SchemaShape::of(&schema);
            let mut writer = StarlarkWriter::new(&shape);
            let output = writer.kind(&shape.kind, 0);
            has_omitted |= shape.is_partial || writer.has_omitted;
            output
        });
        SignatureParts {
            required: parameters.required,
            optional: parameters.optional,
            output,
            description: first_sentence(&tool.text("description")),
            has_omitted,
        }
    }

    /// The signature with this many of the optional parameters. `...` stands for the others.
    pub fn text(&self, optional: usize, with_output: bool) -> String {
        let shown = self.required.iter().chain(self.optional.iter().take(optional));
        let mut parameters: Vec<&str> = shown.map(String::as_str).collect();
        if optional < self.optional.len() {
            parameters.push("...");
        }
        let parameters = parameters.join(", ");
        match &self.output {
            Some(output) if with_output => format!("({parameters}) -> {output}"),
            _ => format!("({parameters})"),
        }
    }
}

struct Parameters {
    /// The names that the schema requires, in its order.
    names_required: IndexSet<String>,
    /// The names of all parameters that are written.
    names: HashSet<String>,
    required: Vec<String>,
    optional: Vec<String>,
}

impl Parameters {
    fn of(schema: &Value) -> Self {
        let names = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let names_required = names.map(str::to_owned).collect();
        Parameters { names_required, names: HashSet::new(), required: Vec::new(), optional: Vec::new() }
    }

    fn read<'a>(&mut self, kind: &'a Type, shape: &'a SchemaShape, writer: &mut StarlarkWriter<'a>) {
        match kind {
            Type::Object(fields, _) => self.add_fields(fields, writer),
            Type::Map(value) => {
                writer.has_omitted |= value.names_something();
                self.optional.push("**arguments".to_owned());
            }
            Type::Anything => self.optional.push("**arguments".to_owned()),
            Type::Part(pointer) => match shape.parts.get(pointer) {
                // A part that is only a reference to another one could be a reference to itself.
                Some(part) if !matches!(part, Type::Part(_)) => self.read(part, shape, writer),
                _ => self.required.push(format!("**{}", writer.kind(kind, 0))),
            },
            Type::Both(kinds) => {
                let (objects, others): (Vec<&Type>, Vec<&Type>) =
                    kinds.iter().partition(|kind| matches!(kind, Type::Object(..)));
                for object in &objects {
                    if let Type::Object(fields, _) = object {
                        let required = fields.iter().filter(|field| field.required);
                        self.names_required.extend(required.map(|field| field.name.clone()));
                    }
                }
                for object in objects {
                    self.read(object, shape, writer);
                }
                // Alternatives, one of which applies beside the parameters that all of them share. That the arguments are
                // an object goes without saying.
                for other in others.into_iter().filter(|other| !is_any_object(other)) {
                    self.required.push(format!("**{}", writer.kind(other, 0)));
                }
            }
            other => self.required.push(format!("**{}", writer.kind(other, 0))),
        }
    }

    fn add_fields<'a>(&mut self, fields: &'a [ObjectField], writer: &mut StarlarkWriter<'a>) {
        for field in fields {
            if self.names.contains(&field.name) {
                continue;
            }
            let is_required = field.required || self.names_required.contains(field.name.as_str());
            let text = writer.field(field, is_required, 0);
            if is_required {
                self.required.push(text);
            } else {
                self.optional.push(text);
            }
            self.names.insert(field.name.clone());
        }
    }

    /// Adds the required parameters that the schema does not describe.
    fn add_undescribed(&mut self) {
        for name in &self.names_required {
            if !self.names.contains(name) {
                self.required.push(format!("{name}: any"));
            }
        }
    }
}

fn is_any_object(kind: &Type) -> bool {
    matches!(kind, Type::Map(value) if **value == Type::Anything)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use proxy_model::ItemKind;

    fn parts(schema: Value) -> SignatureParts {
        let tool = json!({"name": "t", "inputSchema": schema});
        SignatureParts::of(&Definition::parse(ItemKind::Tool, proxy_json::raw(&tool)).unwrap())
    }

    #[track_caller]
    fn assert_signature(schema: Value, expected: &str, has_omitted: bool) {
        let parts = parts(schema);
        assert_eq!(parts.text(usize::MAX, true), expected);
        assert_eq!(parts.has_omitted, has_omitted, "{expected}");
    }

    #[test]
    fn parameters_stand_with_required_ones_first() {
        let schema = json!({"type": "object", "required": ["title", "body"], "properties": {
            "labels": {"type": "array", "items": {"type": "string"}}, "title": {"type": "string"}}});
        assert_signature(schema.clone(), "(title: str, body: any, labels?: list[str])", false);
        assert_eq!(parts(schema).text(0, true), "(title: str, body: any, ...)");
        assert_signature(json!({"type": "object"}), "(**arguments)", false);
        assert_signature(json!({"type": "object", "properties": {}}), "()", false);
    }

    #[test]
    fn a_root_that_refers_or_combines_has_its_parameters() {
        let definitions = json!({"A": {"type": "object", "required": ["x"], "properties": {"x": {"type": "integer"}}}});
        assert_signature(json!({"$ref": "#/$defs/A", "$defs": definitions}), "(x: int)", false);
        let combined = json!({"type": "object", "required": ["b"], "properties": {"a": {"type": "string"}},
            "allOf": [{"type": "object", "properties": {"b": {"type": "integer"}}}]});
        assert_signature(combined, "(b: int, a?: str)", false);
        let twice = json!({"type": "object", "allOf": [{"properties": {"a": {"type": "string"}}},
            {"properties": {"a": {}, "b": {}}, "required": ["a"]}]});
        assert_signature(twice, "(a: str, b?: any)", false);
        let choice =
            |name: &str| json!({"type": "object", "required": [name], "properties": {name: {"type": "string"}}});
        let union = json!({"type": "object", "anyOf": [choice("id"), choice("url")]});
        assert_signature(union, "(**{id: str} | {url: str})", false);
    }

    #[test]
    fn schemas_of_any_size_have_a_short_signature() {
        let begin = std::time::Instant::now();
        let choices: Vec<Value> =
            (0..150_000).map(|number| json!({"type": "object", "properties": {format!("p{number}"): {}}})).collect();
        let schema = json!({"type": "object", "properties": {"a": {"anyOf": choices}}});
        assert_signature(schema, "(a?: any)", true);
        let names: Vec<String> = (0..50_000).map(|number| format!("p{number}")).collect();
        let properties: serde_json::Map<String, Value> = names.iter().map(|name| (name.clone(), json!({}))).collect();
        let many = parts(json!({"type": "object", "properties": properties, "required": names}));
        assert_eq!((many.required.len(), many.optional.len(), many.has_omitted), (50_000, 0, false));
        assert!(begin.elapsed() < std::time::Duration::from_secs(20), "{:?}", begin.elapsed());
    }

    #[test]
    fn what_no_part_shows_is_told() {
        let deep = |inner: Value| {
            json!({"type": "object", "properties": {"a": {"type": "object", "properties": {
            "b": {"type": "object", "properties": {"c": {"type": "object", "properties": {"d": inner}}}}}}}})
        };
        assert_signature(deep(json!({"type": "string"})), "(a?: {b?: {c?: {d?: str}}})", false);
        let deepest = json!({"type": "object", "properties": {"e": {}}});
        assert_signature(deep(deepest), "(a?: {b?: {c?: {d?: dict}}})", true);
        let property = |schema: Value| json!({"type": "object", "properties": {"a": schema}});
        let letters: Vec<String> = ('a'..='z').map(String::from).collect();
        assert_signature(property(json!({"enum": letters})), "(a?: str)", true);
        assert_signature(property(json!({"enum": [[1], [2]]})), "(a?: any)", true);
        assert_signature(property(json!({"anyOf": [{}, {"enum": ["x"]}]})), "(a?: any)", true);
        assert_signature(property(json!({"anyOf": [{}, {"type": "string"}]})), "(a?: any)", false);
        assert_signature(property(json!({"prefixItems": [{"type": "string"}]})), "(a?: list)", false);
        assert_signature(property(json!({"prefixItems": [{"enum": ["x"]}]})), "(a?: list)", true);
        assert_signature(property(json!({"$ref": "#/nowhere"})), "(a?: any)", true);
        assert_signature(
            property(json!({"type": "string", "maxLength": 9, "description": "Text."})),
            "(a?: str)",
            false,
        );
        let mut conditional = property(json!({"type": "string"}));
        conditional["then"] = property(json!({}));
        assert_signature(conditional, "(a?: str)", true);
        let recursive = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/N"}}, "$defs": {"N":
            {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}}}});
        assert_signature(recursive, "(a?: {next?: dict})", true);
    }
}
