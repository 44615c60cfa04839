//! Which script runs.

use super::{started, world};
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

fn two_servers() -> Config {
    let server = |name| fake_backend(["--name", name, "--only", "echo,search"]);
    Config::new().server("one", &server("one")).server("two", &server("two"))
}

#[tokio::test]
async fn without_a_word_it_is_the_default_preset() {
    let mut proxy = started(Proxy::new(&two_servers())).await;
    assert_eq!(proxy.tools().await, ["echo", "search", "two_echo", "two_search"]);
}

#[tokio::test]
async fn a_preset_by_name_and_by_version() {
    let config = Config::new().server("one", &fake_backend(["--only", "echo"]));
    for preset in ["passthrough", "passthrough@1", "default@1"] {
        let config = config.clone().section(&format!("sessionInit: {{ preset: {preset} }}"));
        let mut proxy = started(Proxy::new(&config)).await;
        assert_eq!(proxy.tools().await, ["echo"], "{preset}");
    }
}

#[tokio::test]
async fn a_script_in_the_config() {
    let config = two_servers().section(
        "sessionInit:\n  script: |\n    for meta, call in backends()[\"two\"].tools():\n        publish(meta.replace(name = \"my_\" + meta.name), call)\n",
    );
    let mut proxy = started(Proxy::new(&config)).await;
    assert_eq!(proxy.tools().await, ["my_echo", "my_search"]);
    assert_eq!(proxy.client.call("my_echo", r#"{"n":1.10}"#).await.structured(), r#"{"n":1.10}"#);
}

#[tokio::test]
async fn a_script_in_a_file_and_one_named_on_the_command_line() {
    let script = "publish(metadata('from_file', '', {}, {}), lambda args: 'file')\n";
    let proxy = world("echo", script);
    let mut running = started(proxy).await;
    assert_eq!(running.tools().await, ["from_file"]);
    let proxy = world("echo", script)
        .file("other.star", "publish(metadata('from_argument', '', {}, {}), lambda args: 'argument')\n")
        .argument("--script")
        .argument("other.star");
    assert_eq!(started(proxy).await.tools().await, ["from_argument"]);
}

#[tokio::test]
async fn two_scripts_at_once_are_a_config_error() {
    let proxy =
        Proxy::with_config_text("sessionInit:\n  preset: default\n  scriptFile: policy.star\n").file("policy.star", "");
    let finished = Finished::run(proxy.serve_command()).await.expect(2);
    assert_eq!(
        finished.stderr,
        "\
error: `sessionInit.scriptFile`: conflicts with `preset`: only one session script can be set
 --> proxy.yaml:3:3
  |
3 |   scriptFile: policy.star
  |   ^^^^^^^^^^
  |
  = hint: keep one of `preset`, `script` and `scriptFile`
"
    );
}

#[tokio::test]
async fn a_preset_that_does_not_exist_is_a_config_error() {
    let proxy = Proxy::with_config_text("sessionInit:\n  preset: defualt\n");
    let finished = Finished::run(proxy.serve_command()).await.expect(2);
    assert!(finished.stderr.contains("error: unknown preset `defualt`\n --> proxy.yaml:2:3"), "{}", finished.stderr);
    assert!(finished.stderr.contains("hint: did you mean `default`?"), "{}", finished.stderr);
}

#[tokio::test]
async fn a_section_that_no_script_reads_is_a_config_error() {
    for (section, name) in [
        ("aggregation: { excludeAllTools: true }\nsessionInit: { scriptFile: policy.star }\n", "aggregation"),
        ("sessionInit: { params: { team: a }, scriptFile: policy.star }\n", "params"),
    ] {
        let proxy = Proxy::with_config_text(section).file("policy.star", "");
        let text = format!("error: `{name}` is set, but the session script `policy.star` never reads it");
        for command in ["serve", "check"] {
            let finished = proxy.run([command]).await.expect(2);
            assert!(finished.stderr.contains(&text), "{}", finished.stderr);
            assert!(finished.stderr.contains("--> proxy.yaml:1:"), "{}", finished.stderr);
        }
    }
}

#[tokio::test]
async fn a_script_named_for_once_need_not_read_the_sections_of_the_file() {
    let proxy = Proxy::with_config_text("aggregation: { excludeAllTools: true }\n")
        .file("policy.star", "")
        .argument("--script")
        .argument("policy.star");
    let finished = proxy.run(["check"]).await.expect(0);
    let text = "warning: `aggregation` is set, but the session script `policy.star` never reads it";
    assert!(finished.stderr.contains(text), "{}", finished.stderr);
}

#[tokio::test]
async fn a_script_reads_its_own_parameters() {
    let config = Config::new()
        .section("sessionInit:\n  scriptFile: policy.star\n  params: { teams: [a, b], who: \"${WHO}\" }\n");
    let proxy = Proxy::new(&config).environment("WHO", "ann").file(
        "policy.star",
        "for team in config()['params']['teams']:\n    publish(metadata(team + '_' + config()['params']['who'], '', {}, {}), lambda args: None)\n",
    );
    assert_eq!(started(proxy).await.tools().await, ["a_ann", "b_ann"]);
}
