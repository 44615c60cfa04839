//! `proxy new`.

use crate::support::finished::Finished;
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
async fn odd_names_are_refused() {
    let world = Proxy::with_config_text("");
    for name in ["../x", "a b", "", "x.y", "x_test"] {
        let told = world.run(["new", "extension", name]).await.expect(1);
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
