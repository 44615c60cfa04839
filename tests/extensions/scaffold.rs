//! `proxy new extension`.

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
