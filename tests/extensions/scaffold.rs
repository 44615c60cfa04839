//! `proxy new`.

use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

#[tokio::test]
async fn a_new_extension_works_and_is_never_written_over_another() {
    let world = Proxy::with_config_text("extensions: { paths: [extensions] }\n");
    let told = world.run(["new", "extension", "weather"]).await.expect(0);
    assert!(told.stderr.contains("wrote extensions/weather.star and extensions/weather_test.star"), "{}", told.stderr);
    let said = world.run(["call", "--config", "proxy.yaml", "greet", "name=Ann"]).await.expect(0);
    assert!(said.stdout.contains("Hello, Ann!"), "{}", said.stdout);
    world.run(["test", "extensions"]).await.expect(0);
    world.directory.write("extensions/weather.star", "mine = 1\n");
    std::fs::remove_file(world.directory.path().join("extensions/weather_test.star")).expect("it was written");
    let again: Finished = world.run(["new", "extension", "weather"]).await.expect(1);
    assert!(again.stderr.contains("`extensions/weather.star` already exists"), "{}", again.stderr);
    let kept = std::fs::read_to_string(world.directory.path().join("extensions/weather.star")).expect("it is there");
    assert_eq!(kept, "mine = 1\n");
    assert!(!world.directory.path().join("extensions/weather_test.star").exists());
}

#[tokio::test]
async fn a_tool_a_resource_and_a_prompt_work_at_once_with_their_tests() {
    let world = Proxy::with_config_text("extensions: { paths: [extensions] }\n");
    for (what, name, used) in [
        ("extension", "welcome", "Hello, Ann!"),
        ("tool", "shorten-text", r#"{"text":"one two","shortened":true}"#),
        ("resource", "house", "kitchen\nlibrary"),
        ("prompt", "release_note", "Faster start"),
    ] {
        // When it is written
        let told = world.run(["new", what, name]).await.expect(0).stderr;
        // Then its test passes, and a client sees what the test is about
        let test = format!("extensions/{name}_test.star");
        let passed = world.run(["test", &test]).await.expect(0).stdout;
        assert!(passed.contains("all passed"), "{passed}");
        world.run(["check", "--strict", &test]).await.expect(0);
        // And what the message says to run next works
        let next = told.split("then `proxy ").nth(1).and_then(|rest| rest.split('`').next()).expect("a command");
        let said = world.run(words(next).iter().map(String::as_str)).await.expect(0).stdout;
        assert!(said.contains(used), "{next}: {said}");
        // And nothing is written over it
        let again = world.run(["new", what, name]).await.expect(1).stderr;
        assert!(again.contains(&format!("`extensions/{name}.star` already exists")), "{again}");
    }
    let listed = world.run(["list-tools"]).await.expect(0);
    assert_eq!(listed.column(), ["shorten-text", "greet"]);
    world.run(["check", "--strict"]).await.expect(0);
}

/// The words of a command line as a shell reads them.
fn words(command: &str) -> Vec<String> {
    let mut quoted = false;
    let parts = command.split(|letter: char| {
        quoted ^= letter == '\'';
        letter == ' ' && !quoted
    });
    parts.map(|word| word.replace('\'', "")).collect()
}

#[tokio::test]
async fn the_tests_of_a_new_extension_fail_when_it_is_wrong() {
    let world = Proxy::with_config_text("");
    for (what, right, wrong) in [
        ("extension", "\"de\": \"Hallo\"", "\"de\": \"Bonjour\""),
        ("tool", "len(kept) < len(words)", "True"),
        ("resource", "Eight quiet desks", "Nothing"),
        ("prompt", "\"English\"", "\"Latin\""),
    ] {
        world.run(["new", what, "mine", "--folder", what]).await.expect(0);
        let file = format!("{what}/mine.star");
        let text = std::fs::read_to_string(world.directory.path().join(&file)).expect("it was written");
        assert!(text.contains(right), "{text}");
        world.directory.write(&file, &text.replace(right, wrong));
        world.run(["test", what]).await.expect(1);
    }
}

#[tokio::test]
async fn a_mistake_in_an_extension_is_shown_by_its_path_from_here() {
    let world = Proxy::with_config_text("extensions: { paths: [extensions] }\n");
    world.run(["new", "tool", "shorten"]).await.expect(0);
    let file = world.directory.path().join("extensions/shorten.star");
    let text = std::fs::read_to_string(&file).expect("it was written");
    world.directory.write("extensions/shorten.star", &text.replace("\"integer\"", "\"whole\""));
    let told = world.run(["check"]).await.expect(1);
    assert!(told.stderr.contains("there is no parameter type `whole`"), "{}", told.stderr);
    assert!(told.stderr.contains("--> extensions/shorten.star:24:"), "{}", told.stderr);
}

#[tokio::test]
async fn odd_names_are_refused() {
    let world = Proxy::with_config_text("");
    for (what, name) in
        [("extension", "../x"), ("tool", "a b"), ("extension", ""), ("resource", "x.y"), ("prompt", "x_test")]
    {
        let told = world.run(["new", what, name]).await.expect(1);
        assert!(told.stderr.contains("is not a valid name for an extension"), "{name}: {}", told.stderr);
    }
}

#[tokio::test]
async fn a_new_policy_and_its_test_work_at_once() {
    let world = Proxy::with_config_text("sessionInit: { scriptFile: scripts/company.star }\n");
    let told = world.run(["new", "policy", "company"]).await.expect(0);
    assert!(told.stderr.contains("wrote scripts/company.star and scripts/company_test.star"), "{}", told.stderr);
    world.run(["test"]).await.expect(0);
    world.run(["check", "--strict"]).await.expect(0);
    world.run(["check", "--strict", "scripts/company_test.star"]).await.expect(0);
    let again = world.run(["new", "policy", "company"]).await.expect(1);
    assert!(again.stderr.contains("`scripts/company.star` already exists"), "{}", again.stderr);
    world.run(["new", "policy", "a.b"]).await.expect(1);
}

#[tokio::test]
async fn a_new_test_is_for_the_script_of_its_name() {
    let world = Proxy::with_config_text("").file("mine.star", "passthrough()\nfor backend in backends().values():\n    for meta, call in backend.tools():\n        publish(meta, call)\n");
    world.run(["new", "extension", "weather", "--folder", "tools"]).await.expect(0);
    std::fs::remove_file(world.directory.path().join("tools/weather_test.star")).expect("it was written");
    for (arguments, wrote) in [
        (&["mine"][..], "wrote mine_test.star, a test of mine.star"),
        (&["weather", "--folder", "tools"], "wrote tools/weather_test.star, a test of tools/weather.star"),
        (&["nothing"], "wrote scripts/nothing_test.star, a test of the preset `default`"),
    ] {
        let told = world.run(["new", "test"].into_iter().chain(arguments.iter().copied())).await.expect(0);
        assert!(told.stderr.contains(wrote), "{}", told.stderr);
        let file = told.stderr.split_once("wrote ").and_then(|(_, rest)| rest.split_once(',')).expect("a file").0;
        world.run(["test", file]).await.expect(0);
        world.run(["check", "--strict", file]).await.expect(0);
    }
    world.run(["new", "test", "mine"]).await.expect(1);
}

#[tokio::test]
async fn a_new_test_of_a_policy_expects_what_the_policy_publishes() {
    let policy = "load(\"@proxy//lib@1.star\", \"aggregate\")\nfor meta, call in aggregate(backends(), {}):\n    if meta.name != \"read\" and \
                  meta.name != \"fail\":\n        publish(meta, call)\n";
    // Without servers that are known.
    let world = Proxy::with_config_text("").file("scripts/strict.star", policy);
    world.run(["new", "test", "strict"]).await.expect(0);
    let text =
        std::fs::read_to_string(world.directory.path().join("scripts/strict_test.star")).expect("it was written");
    assert!(text.contains("    published = [\"write\"]\n"), "{text}");
    world.run(["test"]).await.expect(0);
    // With the tools that a server had last.
    let config = Config::new().server("real", &fake_backend(["--only", "echo,fail"]));
    let world = Proxy::new(&config.section("sessionInit: {scriptFile: scripts/strict.star}"))
        .file("scripts/strict.star", policy);
    world.run(["list-servers", "--live"]).await.expect(0);
    world.run(["new", "test", "strict"]).await.expect(0);
    let path = world.directory.path().join("scripts/strict_test.star");
    let text = std::fs::read_to_string(&path).expect("it was written");
    assert!(text.contains("\"real\": testing.backend") && text.contains("published = [\"echo\"]\n"), "{text}");
    world.run(["test"]).await.expect(0);
    // It is a test: it fails when the policy publishes something else.
    let world = world.file("scripts/strict.star", &policy.replace("fail", "none"));
    world.run(["test"]).await.expect(1);
}

#[tokio::test]
async fn a_policy_for_servers_that_are_not_known_needs_them_in_its_test() {
    let policy = "for meta, call in backends()[\"github\"].tools():\n    publish(meta, call)\n";
    let world = Proxy::with_config_text("").file("scripts/hub.star", policy);
    let told = world.run(["new", "test", "hub"]).await.expect(0).stderr;
    assert!(told.contains("the test does not pass yet") && told.contains("`SERVERS`"), "{told}");
    world.run(["test"]).await.expect(1);
    // A server that has never been started is known by its name.
    let world = Proxy::with_config_text("mcpServers: {github: {command: sh}}\n").file("scripts/hub.star", policy);
    let told = world.run(["new", "test", "hub"]).await.expect(0).stderr;
    assert!(!told.contains("not pass"), "{told}");
    world.run(["test"]).await.expect(0);
}
