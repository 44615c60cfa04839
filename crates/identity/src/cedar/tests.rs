//! Decisions about uses and lists. ToolHive's documented policies decide as documented.

use std::path::Path;

use serde_json::{Value, json};

use super::*;
use proxy_base::diagnostic::Location;
use proxy_config::{Cedar, PolicyPath};
use proxy_json::{Raw, raw};
use proxy_model::{ClientInfo, Definition, ItemKind, Principal};

struct Folder(std::path::PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("cedar-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn load(policies: &str, entities: Option<&str>) -> Result<Policies, Vec<String>> {
    let folder = Folder::new();
    std::fs::write(folder.0.join("a.cedar"), policies).unwrap();
    let place = Location::new("proxy.yaml", "", 0..0);
    let path = |name: &str| PolicyPath { written: name.to_owned(), path: folder.0.join(name), place: place.clone() };
    if let Some(entities) = entities {
        std::fs::write(folder.0.join("e.json"), entities).unwrap();
    }
    let config = Cedar {
        policies: vec![path("*.cedar")],
        entities: entities.map(|_| path("e.json")),
        name: "proxy".to_owned(),
        group_type: "THVGroup".to_owned(),
        place: place.clone(),
    };
    Policies::load(&config, Path::new(&folder.0)).map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

pub(super) fn policies(text: &str) -> Policies {
    load(text, None).unwrap()
}

fn principal(sub: &str, groups: &[&str], claims: Value) -> Principal {
    Principal::named(sub).with(|user| {
        user.groups = groups.iter().map(|group| (*group).to_owned()).collect();
        user.claims = claims.to_string().into();
    })
}

pub(super) fn tool(name: &str, annotations: Value) -> Definition {
    let text = json!({"name": name, "title": "T", "inputSchema": {"type": "object"}, "annotations": annotations});
    Definition::parse(ItemKind::Tool, raw(&text)).unwrap()
}

pub(super) fn resource_or_prompt(kind: ItemKind, name: &str) -> Definition {
    Definition::parse(kind, raw(&json!({"name": name, "uri": name}))).unwrap()
}

struct Use<'a> {
    principal: Principal,
    action: PolicyAction,
    id: &'a str,
    arguments: Value,
    via: &'a str,
    annotations: Value,
}

fn call<'a>(sub: &str, id: &'a str, arguments: Value) -> Use<'a> {
    let principal = principal(sub, &[], json!({}));
    Use { principal, action: PolicyAction::CallTool, id, arguments, via: "", annotations: json!({}) }
}

impl Use<'_> {
    fn with<T>(&self, run: impl FnOnce(AccessRequest<'_>) -> T) -> T {
        let (client, definition) = (ClientInfo::default(), tool(self.id, self.annotations.clone()));
        let arguments: Raw = raw(&self.arguments);
        let item = AccessItem {
            action: self.action,
            id: self.id,
            server: "github",
            original: "orig",
            definition: Some(&definition),
        };
        let caller = AccessCaller { principal: &self.principal, client: &client };
        run(AccessRequest { caller, item, arguments: Some(&arguments), via: self.via })
    }

    fn is_allowed(&self, policies: &Policies) -> bool {
        self.with(|request| policies.decide(&request).is_allowed())
    }

    fn listed(&self, policies: &Policies) -> Listed {
        self.with(|request| policies.list(request.caller, &[request.item])[0])
    }
}

#[test]
fn toolhive_s_documented_policies_decide_as_documented() {
    let documented = policies(
        r#"permit(principal, action == Action::"call_tool", resource == Tool::"weather") when {
             resource.arg_location == "New York" || context.arg_location == "London" };
           permit(principal, action == Action::"get_prompt", resource == Prompt::"greeting");
           permit(principal, action == Action::"read_resource", resource == Resource::"data");
           permit(principal == Client::"user123", action == Action::"call_tool", resource);
           permit(principal, action == Action::"call_tool", resource) when { principal.claim_roles.contains("admin") };
           permit(principal, action == Action::"call_tool", resource == Tool::"calculator") when {
             resource.arg_operation == "add" || resource.arg_operation == "subtract" };
           permit(principal, action == Action::"call_tool", resource == Tool::"named") when {
             context.claim_name == "John Doe" };
           permit(principal, action == Action::"call_tool", resource == Tool::"sensitive_data") when {
             principal.claim_roles.contains("data_analyst") &&
             resource.arg_data_level.lessThanOrEqual(principal.claim_clearance_level) };"#,
    );
    let allowed = |wanted: Use<'_>| wanted.is_allowed(&documented);
    assert!(allowed(call("ann", "weather", json!({"location": "London"}))));
    assert!(!allowed(call("ann", "weather", json!({"location": "Rome"}))));
    assert!(allowed(Use { action: PolicyAction::GetPrompt, ..call("ann", "greeting", json!({})) }));
    assert!(!allowed(Use { action: PolicyAction::GetPrompt, ..call("ann", "weather", json!({})) }));
    assert!(allowed(Use { action: PolicyAction::ReadResource, ..call("ann", "data", json!({})) }));
    assert!(allowed(call("user123", "anything", json!({}))));
    assert!(!allowed(call("ann", "anything", json!({}))));
    let admin = principal("ann", &[], json!({"roles": ["admin"]}));
    assert!(allowed(Use { principal: admin, ..call("", "anything", json!({})) }));
    assert!(allowed(call("ann", "calculator", json!({"operation": "add"}))));
    assert!(!allowed(call("ann", "calculator", json!({"operation": "divide"}))));
    let john = Principal::named("john").with(|user| user.name = "John Doe".into());
    assert!(allowed(Use { principal: john, ..call("", "named", json!({})) }));
    let analyst = || principal("ann", &[], json!({"roles": ["data_analyst"], "clearance_level": 3}));
    assert!(allowed(Use { principal: analyst(), ..call("", "sensitive_data", json!({"data_level": 3})) }));
    assert!(!allowed(Use { principal: analyst(), ..call("", "sensitive_data", json!({"data_level": 3.5})) }));
}

#[test]
fn entities_add_attributes_and_parents() {
    let with = load(
        r#"permit(principal, action == Action::"call_tool", resource) when { resource.owner == principal.claim_sub };
           permit(principal in Team::"ops", action, resource);
           permit(principal in THVGroup::"staff", action, resource == Tool::"wiki");"#,
        Some(
            r#"[{"uid": {"type": "Tool", "id": "weather"}, "attrs": {"owner": "user123"}, "parents": []},
                {"uid": {"type": "Client", "id": "bob"}, "attrs": {}, "parents": [{"type": "Team", "id": "ops"}]},
                {"uid": {"type": "THVGroup", "id": "eng"}, "attrs": {}, "parents": [{"type": "THVGroup", "id": "staff"}]}]"#,
        ),
    )
    .unwrap();
    assert!(call("user123", "weather", json!({})).is_allowed(&with));
    assert!(!call("ann", "weather", json!({})).is_allowed(&with));
    assert!(call("bob", "anything", json!({})).is_allowed(&with));
    let engineer = principal("eve", &["eng"], json!({}));
    assert!(Use { principal: engineer, ..call("", "wiki", json!({})) }.is_allowed(&with));
}

#[test]
fn a_forbid_that_fails_denies_and_a_permit_that_fails_permits_nothing() {
    let all = "permit(principal, action, resource);";
    let failing = policies(&format!("{all} forbid(principal, action, resource) when {{ principal.nothing }};"));
    assert!(!call("ann", "x", json!({})).is_allowed(&failing));
    assert_eq!(call("ann", "x", json!({})).listed(&failing), Listed::No);
    let other = policies(&format!("{all} permit(principal, action, resource) when {{ principal.nothing }};"));
    assert!(call("ann", "x", json!({})).is_allowed(&other));
    assert!(
        !call("ann", "x", json!({})).is_allowed(&policies("permit(principal, action, resource) when {1 < \"a\"};"))
    );
}

#[test]
fn an_item_is_listed_if_some_arguments_allow_it() {
    let listed = |text: &str| call("ann", "x", json!({})).listed(&policies(text));
    assert_eq!(listed("permit(principal, action, resource);"), Listed::Yes);
    for condition in ["context.arg_a == 1", "resource.arg_a == 1", "context.arguments.a.b > 1"] {
        let permit = format!("permit(principal, action, resource) when {{ {condition} }};");
        assert_eq!(listed(&permit), Listed::DependsOnArguments, "{condition}");
        let forbid =
            format!("permit(principal, action, resource); forbid(principal, action, resource) when {{ {condition} }};");
        assert_eq!(listed(&forbid), Listed::DependsOnArguments, "{condition}");
    }
    assert_eq!(
        listed("permit(principal, action, resource) when { context has arg_a && context.arg_a == 1 };"),
        Listed::No
    );
    assert_eq!(
        listed("permit(principal, action, resource) when { principal.claim_x && context.arg_a == 1 };"),
        Listed::No
    );
    assert_eq!(
        listed("permit(principal, action, resource) when { context.arg_a == 1 }; forbid(principal, action, resource);"),
        Listed::No
    );
    // Only the arguments of other tools matter elsewhere.
    let other = "permit(principal, action, resource); forbid(principal, action, resource == Tool::\"y\") when { context.arg_a == 1 };";
    assert_eq!(listed(other), Listed::Yes);
}

#[test]
fn arguments_are_compared_as_they_are() {
    let limited = policies(
        r#"permit(principal, action, resource) when { context.arguments.n <= 5 && context.arguments.deep.list.contains("a") };"#,
    );
    let with = |n: Value, list: Value| call("ann", "x", json!({"n": n, "deep": {"list": list}})).is_allowed(&limited);
    assert!(with(json!(5), json!(["a", null])));
    assert!(!with(json!(6), json!(["a"])));
    assert!(!with(json!(5.5), json!(["a"])));
    assert!(!with(json!("5"), json!(["a"])));
    assert!(!with(json!(5), json!(["b"])));
    assert!(!call("ann", "x", json!({"n": 5})).is_allowed(&limited));
}

#[test]
fn a_value_that_cedar_cannot_hold_does_not_slip_past_a_forbid() {
    let guarded = policies(
        r#"permit(principal, action, resource);
           forbid(principal, action, resource) when { context has arg_n && context.arg_n.greaterThan(decimal("5.0")) };"#,
    );
    assert!(call("ann", "x", json!({"n": 5})).is_allowed(&guarded));
    assert!(call("ann", "x", json!({})).is_allowed(&guarded));
    for text in ["6", "1e400", "1e30", "99999999999999999999", "5.00001"] {
        let arguments = serde_json::from_str(&format!("{{\"n\": {text}}}")).unwrap();
        assert!(!call("ann", "x", arguments).is_allowed(&guarded), "{text}");
    }
}

#[test]
fn servers_groups_annotations_and_the_way_are_known() {
    let allowed = |condition: &str, wanted: Use<'_>| {
        wanted.is_allowed(&policies(&format!("permit(principal, action, resource) when {{ {condition} }};")))
    };
    let plain = || call("ann", "x", json!({}));
    for condition in [
        r#"resource in MCP::"github" && resource in MCP::"proxy""#,
        r#"resource.server == "github" && resource.original == "orig" && resource.title == "T""#,
        r#"resource.name == "x" && resource.operation == "call" && resource.feature == "tool""#,
        r#"context.via == "" && context.client.name == "" && !principal.local && !principal.anonymous"#,
        r#"context.scopes == [] && principal.issuer == "" && principal.claims.sub == "ann""#,
        r#"!(resource has readOnlyHint)"#,
    ] {
        assert!(allowed(condition, plain()), "{condition}");
    }
    assert!(!allowed(r#"resource in MCP::"gitlab""#, plain()));
    assert!(allowed("resource.readOnlyHint", Use { annotations: json!({"readOnlyHint": true}), ..plain() }));
    assert!(allowed(r#"context.profile == """#, plain()));
    let under = principal("ann", &[], json!({})).in_profile(Some("research".into()));
    assert!(allowed(r#"context.profile == "research""#, Use { principal: under, ..plain() }));
    assert!(allowed(r#"context.via == "wrapper""#, Use { via: "wrapper", ..plain() }));
    let member = principal("ann", &["eng"], json!({"level": 3}));
    let of_group =
        r#"principal in THVGroup::"eng" && principal.claim_groups.contains("eng") && principal.claims.level > 2"#;
    assert!(allowed(of_group, Use { principal: member, ..plain() }));
}

#[test]
fn a_decision_names_its_policies_and_their_message() {
    let text = "permit(principal, action, resource);\n\n@message(\"ask ops\")\nforbid(principal, action, resource == Tool::\"x\");";
    let policies = policies(text);
    let denied = call("ann", "x", json!({})).with(|request| policies.decide(&request));
    assert_eq!(denied, Decision::Denied { policies: vec!["a.cedar:3".into()], message: Some("ask ops".into()) });
    let allowed = call("ann", "y", json!({})).with(|request| policies.decide(&request));
    assert_eq!(allowed, Decision::Allowed { policies: vec!["a.cedar:1".into()] });
}

#[test]
fn bad_files_are_told_with_their_lines() {
    let errors = load("permit(principal, action, resource);\npermit(principal, actoin, resource);", None).unwrap_err();
    assert!(errors[0].contains("a.cedar:2"), "{errors:?}");
    let errors = load("// nothing\n", None).unwrap_err();
    assert!(errors[0].contains("would deny everything"), "{errors:?}");
    let errors = load("permit(principal == ?principal, action, resource);", None).unwrap_err();
    assert!(errors[0].contains("templates are not supported"), "{errors:?}");
    let errors = load("permit(principal, action, resource);", Some("{}")).unwrap_err();
    assert!(errors[0].contains("invalid entity file"), "{errors:?}");
}

#[test]
fn equal_policies_and_policies_on_one_line_have_ids_of_their_own() {
    let one = "permit(principal, action, resource);";
    let policies = policies(&format!("{one} {one}\n{one}"));
    let ids: Vec<&str> = policies.policies.iter().map(|policy| &*policy.id).collect();
    assert_eq!(ids, ["a.cedar:1", "a.cedar:1:38", "a.cedar:2"]);
}

fn lints(text: &str) -> Vec<String> {
    let items = [
        KnownItem {
            action: PolicyAction::CallTool,
            id: "search".to_owned(),
            arguments: Some(vec!["query".to_owned()]),
        },
        KnownItem { action: PolicyAction::CallTool, id: "github/search".to_owned(), arguments: None },
    ];
    lint(&policies(text), &items, false)
        .into_iter()
        .map(|warning| format!("{} ({})", warning.message, warning.hint.unwrap_or_default()))
        .collect()
}

#[test]
fn lints_tell_what_probably_means_something_else() {
    for (policy, expected) in [
        (r#"permit(principal in Gruop::"a", action, resource);"#, "no entities of type `Gruop`"),
        (r#"permit(principal, action == Action::"call_tol", resource);"#, "did you mean `Action::\"call_tool\"`?"),
        (r#"permit(principal, action == Action::"list_tools", resource);"#, "has no effect"),
        (r#"permit(principal, action, resource == Tool::"serch");"#, "did you mean `Tool::\"search\"`?"),
        (
            r#"permit(principal, action, resource == Tool::"search") when { context.arg_qurey == "" };"#,
            "did you mean `query`?",
        ),
        (
            r#"permit(principal, action, resource == Tool::"search") when { context.arguments.qurey == "" };"#,
            "did you mean `query`?",
        ),
        (r#"permit(principal, action, resource) when { principal.claim_groups like "a*" };"#, "is a set"),
        (r#"permit(principal == THVGroup::"a", action, resource);"#, "never applies"),
        (r#"permit(principal, action == Action::"call_tool", resource == Prompt::"p");"#, "never applies"),
        (r#"permit(principal, action, resource == MCP::"github");"#, "never applies"),
        (r#"permit(principal, action, resource) when { context.arg_n <= 5 };"#, "write `context.arguments.n`"),
        (
            r#"permit(principal, action, resource) when { context has arg_n && context.arg_n == decimal("5.0") };"#,
            "never lists",
        ),
    ] {
        let found = lints(policy);
        assert!(found.iter().any(|warning| warning.contains(expected)), "{policy}: {found:?}");
    }
    let fine = r#"permit(principal in THVGroup::"a", action == Action::"call_tool", resource == Tool::"github/search")
                  when { context.via == "search" };
                  forbid(principal, action, resource == Tool::"search") when { context has arg_query && context.arg_query == "x" };"#;
    assert_eq!(lints(fine), [""; 0]);
}

#[test]
fn arguments_that_policies_would_not_see_as_the_server_does_are_denied() {
    let guarded = policies(
        r#"permit(principal, action, resource) unless {
             context.arguments has amount && context.arguments.amount > 100 };
           forbid(principal, action, resource) when { context has arg_path && context.arg_path like "*..*" };
           forbid(principal, action, resource) when { context.arguments has account && context.arguments.account == 42 };"#,
    );
    let allows = |text: &str| {
        let arguments = proxy_json::valid(text.to_owned()).unwrap();
        let one = call("ann", "send", json!({}));
        one.with(|request| guarded.decide(&AccessRequest { arguments: Some(&arguments), ..request }).is_allowed())
    };
    assert!(allows(r#"{"path":"a","amount":5,"account":1}"#) && allows("{}"));
    for text in [
        r#"{"path":"../x","x":"\ud800"}"#,
        r#"{"x":"\ud800"}"#,
        "[1]",
        r#"{"amount":150.00001}"#,
        r#"{"amount":1e30}"#,
        r#"{"amount":99999999999999999999}"#,
        r#"{"account":42.0}"#,
        r#"{"account":4.2e1}"#,
    ] {
        assert!(!allows(text), "{text}");
    }
}
