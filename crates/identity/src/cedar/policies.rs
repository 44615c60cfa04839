//! One version of the policies, and their decisions.
//!
//! Cedar skips a policy that cannot be evaluated. For a `forbid` that would be unsafe, so here such a `forbid` denies.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use cedar_policy::{AuthorizationError, Authorizer, Context, Entities, EntityUid, EvaluationError, Request, Response};
use serde_json::{Map, json};

use super::access::{AccessCaller, AccessItem, AccessRequest, Decision, Listed};
use super::action::PolicyAction;
use super::analysis::{Reads, is_of_arguments};
use super::entities::{self, ArgumentAttributes, ClaimAttributes, EntityTypes};
use super::error_log::ErrorLog;
use super::load::{self, LoadedPolicy, PolicyTexts};
use super::scope::{CallerClass, ListCache, NamedPrincipals, ScopeCache, ScopedPolicies};
use super::stack::on_known_stack;
use proxy_base::diagnostic::{Diagnostic, Location};
use proxy_config::Cedar;

/// The policies and entities of the files that a config names. Immutable.
#[derive(Debug)]
pub struct Policies {
    /// Unique in this process.
    number: u64,
    config: Cedar,
    texts: PolicyTexts,
    pub(super) policies: Vec<LoadedPolicy>,
    file: Entities,
    types: EntityTypes,
    actions: [EntityUid; PolicyAction::ALL.len()],
    scopes: ScopeCache,
    principals: NamedPrincipals,
    lists: ListCache,
    reads: Reads,
    errors: ErrorLog,
    digest: OnceLock<String>,
}

impl Policies {
    /// Reads the files of a config. Blocking. Returns every error at once.
    pub fn load(config: &Cedar, folder: &Path) -> Result<Self, Vec<Diagnostic>> {
        let texts = PolicyTexts::read(config)?;
        let (mut problems, mut policies) = (Vec::new(), Vec::new());
        for (path, text) in &texts.policies {
            match load::parse(&shown(path, folder), text) {
                Ok(parsed) => policies.extend(parsed),
                Err(errors) => problems.extend(errors),
            }
        }
        let file = texts.entities.as_ref().map_or(Ok(Entities::empty()), |(path, text)| {
            entities::read_file(text).map_err(|error| {
                let place = Location::new(shown(path, folder), text.as_str(), 0..0);
                problems.push(Diagnostic::error(format!("invalid entity file: {error}")).at(place));
            })
        });
        if policies.is_empty() && problems.is_empty() {
            let problem =
                Diagnostic::error("the files of `cedar.policies` contain no policies, which would deny everything");
            let hint = "allow everything with `permit(principal, action, resource);`, or remove the section `cedar`";
            problems.push(problem.hint(hint).at(config.place.clone()));
        }
        let types = EntityTypes::new(&config.group_type, &config.name).map_err(|error| {
            problems.push(Diagnostic::error(format!("`cedar.groupType`: {error}")).at(config.place.clone()));
        });
        let actions = action_uids().map_err(|error| problems.push(Diagnostic::error(error.to_string())));
        let (Ok(file), Ok(types), Ok(actions), true) = (file, types, actions, problems.is_empty()) else {
            return Err(problems);
        };
        let file = entities::with_actions(file, &actions);
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Ok(Policies {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            config: config.clone(),
            reads: policies.iter().fold(Reads::default(), |all, policy| all.union(policy.reads)),
            texts,
            types,
            actions,
            scopes: ScopeCache::new(&policies),
            principals: NamedPrincipals::of(&policies, &file, entities::CLIENT),
            lists: ListCache::default(),
            policies,
            file,
            errors: ErrorLog::default(),
            digest: OnceLock::new(),
        })
    }

    /// Whether the files that a config names differ from those that were loaded. Blocking.
    pub fn is_outdated(&self, config: &Cedar) -> bool {
        PolicyTexts::read(config).ok().as_ref() != Some(&self.texts)
    }

    /// Whether other policies decide the same because they come from equal files.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        let settings = |policies: &Self| (policies.config.name.clone(), policies.config.group_type.clone());
        self.texts == other.texts && settings(self) == settings(other)
    }

    /// Identifies what they decide: of equal files on every machine.
    pub fn digest(&self) -> &str {
        self.digest.get_or_init(|| {
            let texts = |files: &[(PathBuf, String)]| files.iter().map(|(_, text)| text.clone()).collect::<Vec<_>>();
            let entities = self.texts.entities.as_ref().map(|(_, text)| text);
            let settings = format!("{:?} {:?}", self.config.name, self.config.group_type);
            proxy_json::digest(&json!([texts(&self.texts.policies), entities, settings]))
        })
    }

    /// Identifies this version in this process.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// How many policies there are.
    pub fn len(&self) -> usize {
        self.policies.len()
    }

    pub fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }

    /// The files, to be watched.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let policies = self.texts.policies.iter().map(|(path, _)| path);
        policies.chain(self.texts.entities.iter().map(|(path, _)| path))
    }

    /// Whether lists depend on the client's name or version.
    pub fn reads_client(&self) -> bool {
        self.reads.client
    }

    /// Whether a decision may depend on arguments.
    pub fn reads_arguments(&self) -> bool {
        self.reads.arguments
    }

    /// Where a policy is written.
    pub fn place(&self, id: &str) -> Option<&Location> {
        self.policies.iter().find(|policy| &*policy.id == id).map(|policy| &policy.place)
    }

    /// The types of entities that policies can name.
    pub(super) fn known_types(&self) -> BTreeSet<String> {
        let own = ["Client", "Action", "MCP", "FeatureType", self.config.group_type.as_str()].map(str::to_owned);
        let items = PolicyAction::ALL.iter().map(|action| action.entity_type().to_owned());
        let of_file = self.file.iter().map(|entity| entity.uid().type_name().to_string());
        own.into_iter().chain(items).chain(of_file).collect()
    }

    /// Decides about one use.
    pub fn decide(&self, request: &AccessRequest<'_>) -> Decision {
        on_known_stack(|| self.decide_here(request))
    }

    fn decide_here(&self, request: &AccessRequest<'_>) -> Decision {
        let item = self.types.item_uid(&request.item);
        let scoped = self.scoped(request.item.action, &item, &self.class(request.caller));
        let arguments = match scoped.reads.arguments {
            true => Some(request.arguments.map_or(Ok(Map::new()), |raw| serde_json::from_str(raw.get()))),
            false => None,
        };
        let is_readable = !matches!(arguments, Some(Err(_)));
        let arguments = arguments.and_then(Result::ok).map(|arguments| ArgumentAttributes::of(&arguments));
        // No policy can be evaluated on what is no JSON object, or on a value that Cedar cannot hold: a `forbid` or an `unless`
        // would not see what the server gets.
        if !is_readable || arguments.as_ref().is_some_and(ArgumentAttributes::is_incomplete) {
            for policy in &scoped.forbids_on_arguments {
                self.errors.failed(policy, "forbid", "an argument has a value that Cedar cannot hold");
            }
            return Decision::Denied { policies: scoped.forbids_on_arguments.clone(), message: None };
        }
        let claims = ClaimAttributes::of(request.caller);
        let flat = arguments.as_ref().map(ArgumentAttributes::flat);
        let entities = self.entities(request.caller, &claims, &[(&request.item, &item)], flat);
        let context = entities::context(request.caller, &claims, arguments, request.via);
        let response = entities.zip(context).and_then(|(entities, context)| {
            self.ask(request.caller, request.item.action, &item, &scoped, &entities, context)
        });
        response.map_or_else(denied, |response| self.decided(&response))
    }

    /// Decides which items are listed for a caller, in their order. An item is listed if it can be used with some arguments.
    pub fn list(&self, caller: AccessCaller<'_>, items: &[AccessItem<'_>]) -> Vec<Listed> {
        on_known_stack(|| self.list_here(caller, items))
    }

    fn list_here(&self, caller: AccessCaller<'_>, items: &[AccessItem<'_>]) -> Vec<Listed> {
        let class = self.class(caller);
        match self.principals.tell_classes_only() {
            true => self.lists.list(class.clone(), items, |unknown| self.decide_list(caller, &class, unknown)),
            false => self.decide_list(caller, &class, items).unwrap_or_else(|| vec![Listed::No; items.len()]),
        }
    }

    /// `None` if the policies cannot be asked.
    fn decide_list(
        &self,
        caller: AccessCaller<'_>,
        class: &CallerClass,
        items: &[AccessItem<'_>],
    ) -> Option<Vec<Listed>> {
        let claims = ClaimAttributes::of(caller);
        let mut listed = vec![Listed::No; items.len()];
        let mut rest: Vec<(usize, EntityUid)> =
            items.iter().map(|item| self.types.item_uid(item)).enumerate().collect();
        let context = entities::context(caller, &claims, None, "")?;
        // Two items of one name are two different entities, so they cannot be in one set of entities.
        while !rest.is_empty() {
            let mut names = HashSet::new();
            let (batch, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(_, uid)| names.insert(uid.clone()));
            rest = others;
            let of_batch: Vec<_> = batch.iter().map(|(index, uid)| (&items[*index], uid)).collect();
            let entities = self.entities(caller, &claims, &of_batch, None)?;
            for (index, uid) in &batch {
                let action = items[*index].action;
                let scoped = self.scoped(action, uid, class);
                let response = self.ask(caller, action, uid, &scoped, &entities, context.clone());
                listed[*index] = response.map_or(Listed::No, |response| self.listed(&response, &scoped));
            }
        }
        Some(listed)
    }

    fn action(&self, action: PolicyAction) -> &EntityUid {
        &self.actions[action.index()]
    }

    fn class(&self, caller: AccessCaller<'_>) -> CallerClass {
        let groups: Vec<EntityUid> = self.types.groups(caller).collect();
        self.principals.class(&self.types.client(caller), &groups, &self.file)
    }

    fn scoped(&self, action: PolicyAction, item: &EntityUid, class: &CallerClass) -> Arc<ScopedPolicies> {
        self.scopes.of(action, self.action(action), item, class, &self.principals, &self.policies)
    }

    fn entities(
        &self,
        caller: AccessCaller<'_>,
        claims: &ClaimAttributes,
        items: &[(&AccessItem<'_>, &EntityUid)],
        arguments: Option<&super::values::Attributes>,
    ) -> Option<Entities> {
        let mut all = vec![self.types.caller(caller, claims, &self.file)?];
        all.extend(self.types.servers(items.iter().map(|(item, _)| *item), &self.file));
        for (item, uid) in items {
            all.push(self.types.item(item, uid, arguments, &self.file)?);
        }
        let entities = self.file.clone().upsert_entities(all, None);
        entities.inspect_err(|error| tracing::warn!(%error, "cannot evaluate the policies, so access is denied")).ok()
    }

    fn ask(
        &self,
        caller: AccessCaller<'_>,
        action: PolicyAction,
        item: &EntityUid,
        scoped: &ScopedPolicies,
        entities: &Entities,
        context: Context,
    ) -> Option<Response> {
        let client = self.types.client(caller);
        let request = Request::new(client, self.action(action).clone(), item.clone(), context, None).ok()?;
        Some(Authorizer::new().is_authorized(&request, &scoped.set, entities))
    }

    /// The policies that could not be evaluated, with their errors.
    fn failed<'a>(&'a self, response: &'a Response) -> impl Iterator<Item = (&'a LoadedPolicy, &'a EvaluationError)> {
        response.diagnostics().errors().filter_map(|error| {
            let AuthorizationError::PolicyEvaluationError(error) = error;
            Some((self.policy(error.policy_id().as_ref())?, error.inner()))
        })
    }

    fn policy(&self, id: &str) -> Option<&LoadedPolicy> {
        self.policies.iter().find(|policy| &*policy.id == id)
    }

    fn decided(&self, response: &Response) -> Decision {
        let mut forbids: Vec<&LoadedPolicy> = Vec::new();
        for (policy, error) in self.failed(response) {
            self.errors.failed(&policy.id, policy.effect(), &shown_error(error));
            if policy.is_forbid() {
                forbids.push(policy);
            }
        }
        let reasons: Vec<&LoadedPolicy> =
            response.diagnostics().reason().filter_map(|id| self.policy(id.as_ref())).collect();
        let is_allowed = response.decision() == cedar_policy::Decision::Allow && forbids.is_empty();
        if is_allowed {
            return Decision::Allowed { policies: reasons.iter().map(|policy| Arc::clone(&policy.id)).collect() };
        }
        let forbids: Vec<&LoadedPolicy> =
            reasons.into_iter().filter(|policy| policy.is_forbid()).chain(forbids).collect();
        Decision::Denied {
            message: forbids.iter().find_map(|policy| policy.message.clone()),
            policies: forbids.iter().map(|policy| Arc::clone(&policy.id)).collect(),
        }
    }

    /// Whether the answer to a question without arguments lists the item.
    fn listed(&self, response: &Response, scoped: &ScopedPolicies) -> Listed {
        let reasons = || response.diagnostics().reason().filter_map(|id| self.policy(id.as_ref()));
        let mut may_be_permitted = response.decision() == cedar_policy::Decision::Allow;
        let mut is_forbidden = reasons().any(LoadedPolicy::is_forbid);
        for (policy, error) in self.failed(response) {
            let lacks_argument = policy.reads.arguments && lacks_argument(error);
            may_be_permitted |= !policy.is_forbid() && lacks_argument;
            is_forbidden |= policy.is_forbid() && !lacks_argument;
            if !lacks_argument {
                self.errors.failed(&policy.id, policy.effect(), &shown_error(error));
            }
        }
        match (may_be_permitted && !is_forbidden, scoped.reads.arguments) {
            (false, _) => Listed::No,
            (true, true) => Listed::DependsOnArguments,
            (true, false) => Listed::Yes,
        }
    }
}

fn denied() -> Decision {
    Decision::Denied { policies: Vec::new(), message: None }
}

/// Whether a policy could not be evaluated because an attribute is missing that is made from arguments. Cedar tells the name
/// of the attribute only in the text of the error.
fn lacks_argument(error: &EvaluationError) -> bool {
    if !matches!(error, EvaluationError::EntityAttrDoesNotExist(_) | EvaluationError::RecordAttrDoesNotExist(_)) {
        return false;
    }
    let text = error.to_string();
    let name = text.strip_suffix('`').and_then(|text| text.rsplit_once('`')).map(|(_, name)| name);
    name.is_some_and(is_of_arguments)
}

/// An error without values: those of functions and of arithmetic show their arguments.
fn shown_error(error: &EvaluationError) -> String {
    match error {
        EvaluationError::FailedExtensionFunctionExecution(_) => "a value has the wrong form for a function".to_owned(),
        EvaluationError::IntegerOverflow(_) => "a number is too large".to_owned(),
        error => error.to_string(),
    }
}

fn action_uids() -> Result<[EntityUid; PolicyAction::ALL.len()], entities::InvalidType> {
    let name = entities::type_name("Action")?;
    Ok(PolicyAction::ALL.map(|action| entities::uid(&name, action.id())))
}

/// A path as messages show it: relative to the folder of the config.
fn shown(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).display().to_string()
}
