//! What the author of policies is told: errors and lints, who decided, and tests that decide as the server does.

use super::{SECRETS, world};

#[tokio::test]
async fn check_tells_what_probably_means_something_else() {
    let policies = "permit(principal, action, resource == Tool::\"ehco\");\npermit(principal in Gruop::\"x\", action, resource);\n";
    let proxy = world(&["--only", "echo"], "", policies);
    let checked = proxy.run(["check", "--live"]).await.expect(0);
    let shown = format!("{}{}", checked.stdout, checked.stderr);
    for text in
        ["policies/a.cedar:1", "did you mean `Tool::\"echo\"`?", "policies/a.cedar:2", "no entities of type `Gruop`"]
    {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    assert!(shown.contains("0 tools published") && !shown.contains("nothing-published"), "{shown}");
}

#[tokio::test]
async fn a_missing_semicolon_is_said_to_be_missing() {
    for policies in [
        "permit(principal, action, resource)\nforbid(principal, action, resource == Tool::\"x\");\n",
        "permit(principal, action, resource)\n",
        "permit(principal, action, resource) when { true }\n@id(\"x\")\nforbid(principal, action, resource);\n",
    ] {
        let told = world(&["--only", "echo"], "", policies).run(["check"]).await.stderr;
        assert!(told.contains("every policy ends with `;`"), "{policies}: {told}");
    }
    let told = world(&["--only", "echo"], "", "permit(principal, acton, resource);").run(["check"]).await.stderr;
    assert!(!told.contains("every policy ends"), "{told}");
}

#[tokio::test]
async fn what_cannot_be_loaded_is_told_at_the_start() {
    let proxy = world(&["--only", "echo"], "", "permit(principal, action, resourc);");
    let failed = proxy.run(["call", "echo"]).await;
    assert_ne!(failed.code, 0);
    assert!(failed.stderr.contains("policies/a.cedar:1"), "{}", failed.stderr);
}

#[tokio::test]
async fn explain_tells_which_policy_decided() {
    let proxy = world(&["--only", "echo,secret"], "", SECRETS);
    let explain =
        async |name: &str, user: &str| proxy.run(["explain", name, "--as-user", user, "--live"]).await.expect(0).stdout;
    assert!(explain("secret", "bob").await.contains("forbidden by policies/a.cedar:4"));
    assert!(explain("secret", "ann").await.contains("permitted by policies/a.cedar:2"));
}

#[tokio::test]
async fn tests_decide_as_the_server_does() {
    let test = r#"
def session(user):
    fake = testing.backend(tools = [testing.tool("echo", returns = "said"), testing.tool("secret", returns = "told")])
    config = {"cedar": {"policies": ["policies/*.cedar"]}}
    return testing.session(preset = "default", backends = {"fake": fake}, user = user, config = config)

def test_secrets_are_for_ops():
    bob = session({"sub": "bob"})
    testing.eq(bob.tool_names(), ["echo"])
    testing.contains(testing.raises(lambda: bob.call("secret", {})), "secret")
    ann = session({"sub": "ann", "groups": ["ops"]})
    testing.eq(unwrap(ann.call("secret", {})), "told")
"#;
    let proxy = world(&["--only", "echo"], "", SECRETS).file("policy_test.star", test);
    let tested = proxy.run(["test"]).await;
    assert_eq!(tested.code, 0, "{}{}", tested.stdout, tested.stderr);
}
