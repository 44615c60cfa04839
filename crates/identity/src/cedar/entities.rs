//! The entities of a policy evaluation: the caller, the items, their servers, and additions from the entity file.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;
use std::sync::Arc;

use cedar_policy::{Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, RestrictedExpression};
use serde_json::{Map, Value};

use super::access::{AccessCaller, AccessItem};
use super::action::PolicyAction;
use super::values::{self, Attributes, Converted};

/// The type of the entities of callers: users, whom ToolHive's policies call clients.
pub(super) const CLIENT: &str = "Client";
/// The annotations of a tool that are attributes.
const HINTS: [&str; 4] = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

/// The names of the types of entities.
#[derive(Debug)]
pub(super) struct EntityTypes {
    client: EntityTypeName,
    /// In the order of [`PolicyAction::ALL`]. Reading a name costs Cedar microseconds.
    items: [EntityTypeName; PolicyAction::ALL.len()],
    group: EntityTypeName,
    server: EntityTypeName,
    /// The entity above all servers.
    proxy: EntityUid,
}

/// A name that is not a type of entities.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not the name of a type")]
pub(super) struct InvalidType(String);

impl EntityTypes {
    pub(super) fn new(group: &str, proxy: &str) -> Result<Self, InvalidType> {
        let server = type_name("MCP")?;
        let [call_tool, get_prompt, read_resource, call_method] =
            PolicyAction::ALL.map(|action| type_name(action.entity_type()));
        Ok(EntityTypes {
            client: type_name(CLIENT)?,
            items: [call_tool?, get_prompt?, read_resource?, call_method?],
            group: type_name(group)?,
            proxy: uid(&server, proxy),
            server,
        })
    }

    pub(super) fn client(&self, caller: AccessCaller<'_>) -> EntityUid {
        uid(&self.client, caller.principal.sub())
    }

    pub(super) fn groups(&self, caller: AccessCaller<'_>) -> impl Iterator<Item = EntityUid> {
        caller.principal.groups.iter().map(|group| uid(&self.group, group))
    }

    pub(super) fn item_uid(&self, item: &AccessItem<'_>) -> EntityUid {
        uid(&self.items[item.action.index()], item.id)
    }

    /// The entity of the caller, with what the entity file says about it.
    pub(super) fn caller(&self, caller: AccessCaller<'_>, claims: &ClaimAttributes, file: &Entities) -> Option<Entity> {
        let principal = caller.principal;
        let mut attributes = claims.flat.clone();
        attributes.insert("claims".to_owned(), claims.record.clone());
        attributes.insert("issuer".to_owned(), values::text_value(principal.issuer()));
        attributes.insert("local".to_owned(), RestrictedExpression::new_bool(principal.is_local()));
        attributes.insert("anonymous".to_owned(), RestrictedExpression::new_bool(principal.is_anonymous()));
        merged(self.client(caller), attributes, self.groups(caller).collect(), file)
    }

    /// The entity of an item, below its server.
    pub(super) fn item(
        &self,
        item: &AccessItem<'_>,
        uid: &EntityUid,
        arguments: Option<&Attributes>,
        file: &Entities,
    ) -> Option<Entity> {
        let (operation, feature) = item.action.operation_and_feature();
        let name = item.definition.map(|definition| definition.text("name")).filter(|name| !name.is_empty());
        let mut attributes = Attributes::new();
        let mut add = |attribute: &str, text: &str| {
            attributes.insert(attribute.to_owned(), values::text_value(text));
        };
        add("name", name.as_deref().unwrap_or(item.id));
        add("operation", operation);
        add("feature", feature);
        add("server", item.server);
        add("original", item.original);
        add("title", &item.definition.map(|definition| definition.text("title")).unwrap_or_default());
        if item.action == PolicyAction::ReadResource {
            add("uri", item.id);
        }
        let annotations = item.definition.and_then(|definition| definition.member("annotations")).unwrap_or_default();
        for hint in HINTS {
            if let Some(Value::Bool(flag)) = annotations.get(hint) {
                attributes.insert(hint.to_owned(), RestrictedExpression::new_bool(*flag));
            }
        }
        if let Some(arguments) = arguments {
            attributes.extend(arguments.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        let parent = if item.server.is_empty() { self.proxy.clone() } else { self.server(item.server) };
        merged(uid.clone(), attributes, HashSet::from([parent]), file)
    }

    fn server(&self, name: &str) -> EntityUid {
        uid(&self.server, name)
    }

    /// The servers of items, each below the proxy.
    pub(super) fn servers<'a>(&self, items: impl Iterator<Item = &'a AccessItem<'a>>, file: &Entities) -> Vec<Entity> {
        let names: HashSet<&str> = items.map(|item| item.server).filter(|server| !server.is_empty()).collect();
        let server =
            |name: &str| merged(self.server(name), Attributes::new(), HashSet::from([self.proxy.clone()]), file);
        names.into_iter().filter_map(server).collect()
    }
}

/// The claims of a caller in both forms.
pub(super) struct ClaimAttributes {
    pub(super) flat: Attributes,
    record: RestrictedExpression,
}

impl ClaimAttributes {
    pub(super) fn of(caller: AccessCaller<'_>) -> Self {
        let principal = caller.principal;
        let mut claims: Map<String, Value> = serde_json::from_str(&principal.claims).unwrap_or_default();
        let mut add = |name: &str, value: Value| {
            claims.entry(name).or_insert(value);
        };
        add("sub", principal.sub().into());
        for (name, text) in [("email", &principal.email), ("name", &principal.name)] {
            if !text.is_empty() {
                add(name, text.as_ref().into());
            }
        }
        if !principal.groups.is_empty() {
            add("groups", principal.groups.to_vec().into());
        }
        ClaimAttributes { flat: values::flat_claims(&claims), record: record(values::record(&claims)) }
    }
}

/// A record of values; empty if it cannot be made.
fn record(converted: Converted) -> RestrictedExpression {
    let empty = || RestrictedExpression::new_record([]);
    RestrictedExpression::new_record(converted.attributes).or_else(|_| empty()).unwrap_or_else(|_| {
        // Cannot happen: an empty record has no duplicate keys.
        RestrictedExpression::new_bool(false)
    })
}

/// The arguments of a use, in both forms.
pub(super) struct ArgumentAttributes {
    flat: Converted,
    whole: Converted,
}

impl ArgumentAttributes {
    pub(super) fn of(values: &Map<String, Value>) -> Self {
        ArgumentAttributes { flat: values::flat_arguments(values), whole: values::record(values) }
    }

    pub(super) fn flat(&self) -> &Attributes {
        &self.flat.attributes
    }

    /// Whether a value was left out because Cedar cannot hold it.
    pub(super) fn is_incomplete(&self) -> bool {
        self.flat.is_incomplete || self.whole.is_incomplete
    }
}

/// The context of a question. Without arguments it has no attribute that is made from them.
pub(super) fn context(
    caller: AccessCaller<'_>,
    claims: &ClaimAttributes,
    arguments: Option<ArgumentAttributes>,
    via: &str,
) -> Option<Context> {
    let mut pairs: HashMap<String, RestrictedExpression> = claims.flat.clone();
    if let Some(arguments) = arguments {
        pairs.extend(arguments.flat.attributes);
        pairs.insert("arguments".to_owned(), record(arguments.whole));
    }
    pairs.insert("via".to_owned(), values::text_value(via));
    pairs.insert("profile".to_owned(), values::text_value(caller.principal.profile_name()));
    let client = [("name", caller.client.name()), ("version", caller.client.version())]
        .map(|(name, text)| (name.to_owned(), values::text_value(&text)));
    pairs.insert("client".to_owned(), RestrictedExpression::new_record(client).ok()?);
    pairs.insert("scopes".to_owned(), values::texts(caller.principal.scopes.iter()));
    Context::from_pairs(pairs).ok()
}

/// The entities of the file and those of the actions, whose attribute `operation` ToolHive's policies may read.
pub(super) fn with_actions(file: Entities, actions: &[EntityUid]) -> Entities {
    let operation = |action: &EntityUid| {
        let id: &str = action.id().as_ref();
        merged(
            action.clone(),
            Attributes::from([("operation".to_owned(), values::text_value(id))]),
            HashSet::new(),
            &file,
        )
    };
    let actions: Vec<Entity> = actions.iter().filter_map(operation).collect();
    file.clone().upsert_entities(actions, None).unwrap_or(file)
}

/// An entity with the attributes and parents that the entity file gives it. What the proxy knows itself counts more.
fn merged(uid: EntityUid, attributes: Attributes, parents: HashSet<EntityUid>, file: &Entities) -> Option<Entity> {
    let (mut all, mut above) = match file.get(&uid) {
        Some(known) => {
            let (_, attributes, parents) = known.clone().into_inner();
            (attributes, parents)
        }
        None => (HashMap::new(), HashSet::new()),
    };
    all.extend(attributes);
    above.extend(parents);
    Entity::new(uid, all, above).ok()
}

pub(super) fn type_name(name: &str) -> Result<EntityTypeName, InvalidType> {
    EntityTypeName::from_str(name).map_err(|_| InvalidType(name.to_owned()))
}

pub(super) fn uid(of: &EntityTypeName, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(of.clone(), EntityId::new(id))
}

/// The message of an entity file that cannot be used.
pub(super) fn read_file(text: &str) -> Result<Entities, Arc<str>> {
    Entities::from_json_str(text, None).map_err(|error| {
        let mut message = error.to_string();
        let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(&error);
        while let Some(inner) = cause {
            message = format!("{message}: {inner}");
            cause = inner.source();
        }
        message.into()
    })
}
