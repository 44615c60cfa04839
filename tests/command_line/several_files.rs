//! Several config files as one: `-c` more than once, and `include`.

use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

fn world() -> Proxy {
    let config = Config::new()
        .server("first", &fake_backend(["--only", "echo"]))
        .server("second", &fake_backend(["--only", "add_tool"]));
    Proxy::new(&config)
        .file("off.yaml", "mcpServers: { first: { disabled: true } }\n")
        .file("gone.yaml", "mcpServers:\n  second:\n")
        .file("wrong.yaml", "mcpServers:\n  first:\n    tmeout: 5s\n")
        .file("all.yaml", "include: [proxy.yaml, '*off.yaml']\n")
}

#[tokio::test]
async fn later_files_change_and_remove_what_earlier_ones_have() {
    let world = world();
    let names = async |files: &[&str]| {
        let options = files.iter().flat_map(|file| ["-c", *file]);
        let servers = world.run(["list-servers", "--json"].into_iter().chain(options)).await.expect(0).json();
        let servers = servers.as_array().expect("a list").clone();
        servers.iter().map(|server| server["name"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&["proxy.yaml"]).await, ["first", "second"]);
    assert_eq!(names(&["proxy.yaml", "off.yaml"]).await, ["second"]);
    assert_eq!(names(&["proxy.yaml", "gone.yaml"]).await, ["first"]);
    assert_eq!(names(&["all.yaml"]).await, ["second"]);
    let wrong = world.run(["check", "-c", "proxy.yaml", "-c", "wrong.yaml"]).await.expect(2).stderr;
    assert!(wrong.contains("wrong.yaml:3:5") && wrong.contains("did you mean `timeout`?"), "{wrong}");
}

#[tokio::test]
async fn all_files_are_watched_and_a_bad_one_changes_nothing() {
    let world = world().file("more.yaml", "{}\n").file("base.yaml", "include: [proxy.yaml, more.yaml]\n");
    let world = world.argument("--config").argument("base.yaml");
    let mut proxy = world.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    assert_eq!(proxy.tools().await.len(), 2);
    proxy.world.directory.write("more.yaml", "serve: [\n");
    proxy.client.program.stderr.line("was not reloaded, the old config stays").await;
    assert_eq!(proxy.tools().await.len(), 2);
    proxy.world.directory.write("more.yaml", "mcpServers: { second: { disabled: true } }\n");
    proxy.client.expect_notification("notifications/tools/list_changed").await;
    assert_eq!(proxy.tools().await, ["echo"]);
}

#[tokio::test]
async fn a_config_in_the_folder_of_earlier_versions_is_read_with_a_line_that_says_where_it_belongs() {
    let world = Proxy::with_config_text("{}\n");
    world.directory.write("home/.config/proxy/proxy.yaml", "sessionInit: { preset: passthrough }\n");
    let checked = async || {
        let mut command = world.command(["check"]);
        command.current_dir(world.directory.directory("elsewhere"));
        Finished::run(command).await.expect(0).stderr
    };
    let said = checked().await;
    assert!(said.contains("proxy.yaml` is in the config folder of earlier versions"), "{said}");
    assert!(said.contains("home/.config/starlark-mcp-proxy`"), "{said}");
    world.directory.write("home/.config/starlark-mcp-proxy/proxy.yaml", "{}\n");
    let said = checked().await;
    assert!(!said.contains("earlier versions"), "{said}");
}
