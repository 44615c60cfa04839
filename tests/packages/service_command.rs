//! `mcp-proxy`, which runs a command as the service does: with what its unit says, also after `systemctl edit`.

use std::fs;
use std::process::Command;

use super::build::executable;
use super::in_checkout;
use crate::support::finished::Finished;
use crate::support::temp_dir::TempDir;

/// The unit, with something of the administrator's.
fn unit_with(more: &str) -> String {
    let unit = fs::read_to_string(in_checkout("packages/systemd/mcp-proxy.service")).expect("a unit");
    format!("# /usr/lib/systemd/system/mcp-proxy.service\n{unit}\n# /etc/systemd/system/override.conf\n{more}\n")
}

/// Runs `mcp-proxy` where systemd knows this unit. Its output is what `systemd-run` gets, one argument a line.
async fn mcp_proxy(unit: Option<&str>, arguments: &[&str]) -> Finished {
    let folder = TempDir::new();
    let systemctl = match unit {
        Some(unit) => format!("cat '{}'\n", folder.write("unit", unit).display()),
        None => "echo 'No files found for mcp-proxy.service.' >&2\nexit 1\n".to_owned(),
    };
    let only_cat = "[ \"$*\" = 'cat mcp-proxy.service' ] || exit 9\n";
    executable(&folder, "systemctl", &format!("#!/bin/sh\n{only_cat}{systemctl}"));
    executable(&folder, "systemd-run", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n");
    let path = std::env::var("PATH").expect("there are programs");
    let mut command = Command::new("sh");
    command.arg(in_checkout("packages/systemd/mcp-proxy")).args(arguments);
    command.env("PATH", format!("{}:{path}", folder.path().display()));
    Finished::run(command).await
}

/// What a property of the unit is for the command, in the unit's order.
fn properties<'a>(said: &'a Finished, name: &str) -> Vec<&'a str> {
    said.stdout.lines().filter_map(|line| line.strip_prefix(&format!("--property={name}="))).collect()
}

#[tokio::test]
async fn a_command_has_the_user_folders_and_variables_of_the_service() {
    let said = mcp_proxy(Some(&unit_with("")), &["login", "my server"]).await.expect(0);

    assert_eq!(properties(&said, "User"), ["mcp-proxy"]);
    assert_eq!(properties(&said, "DynamicUser"), ["yes"]);
    assert_eq!(properties(&said, "StateDirectory"), ["mcp-proxy"]);
    assert_eq!(properties(&said, "EnvironmentFile"), ["-/etc/mcp-proxy/env"]);
    let variables = properties(&said, "Environment");
    assert!(variables.contains(&"XDG_STATE_HOME=/var/lib/mcp-proxy"), "{variables:?}");
    // The runtime folder is the service's own, and is not removed after the command.
    assert!(!said.stdout.contains("RuntimeDirectory"), "{}", said.stdout);
    let command = "--setenv=PROXY_CONFIG=/etc/mcp-proxy/proxy.yaml\n/usr/local/bin/proxy\nlogin\nmy server\n";
    assert!(said.stdout.ends_with(command), "{}", said.stdout);
}

#[tokio::test]
async fn a_command_has_what_the_administrator_has_added_to_the_unit() {
    let more = "[Service]\nLoadCredential = token:/etc/mcp-proxy/a token\n  Environment=A=b \\\n  \"C=d e\"\n\
                EnvironmentFile=\nEnvironmentFile=/etc/mcp-proxy/other\nMemoryMax=1G\n";

    let said = mcp_proxy(Some(&unit_with(more)), &["status"]).await.expect(0);

    assert_eq!(properties(&said, "LoadCredential"), ["token:/etc/mcp-proxy/a token"]);
    // An empty value forgets the ones before it, so the order is the unit's.
    assert_eq!(properties(&said, "EnvironmentFile"), ["-/etc/mcp-proxy/env", "", "/etc/mcp-proxy/other"]);
    let variables = properties(&said, "Environment");
    assert_eq!(variables.last().map(|last| last.split_whitespace().collect()), Some(vec!["A=b", "\"C=d", "e\""]));
    assert_eq!(variables.first(), Some(&"HOME=/var/lib/mcp-proxy"));
    // Limits are for the service.
    assert!(properties(&said, "MemoryMax").is_empty());
}

#[tokio::test]
async fn without_the_service_no_command_runs() {
    let refused = mcp_proxy(None, &["status"]).await.expect(1);

    assert_eq!(refused.stdout, "");
    assert!(refused.stderr.contains("No files found for mcp-proxy.service."), "{}", refused.stderr);
}
