//! Servers of other people, locked.

use crate::support::config::Config;
use crate::support::proxy::Proxy;
use crate::support::real_servers;
use crate::support::temp_dir::TempDir;

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn servers_of_other_people_are_the_same_when_they_are_asked_again() {
    let directory = TempDir::new();
    let files = directory.directory("files");
    let (Some(everything), Some(filesystem), Some(memory), Some(time), Some(git)) = (
        real_servers::everything(),
        real_servers::filesystem(&files),
        real_servers::memory(directory.path()),
        real_servers::time(),
        real_servers::git(&directory),
    ) else {
        return;
    };
    let config = Config::new()
        .server("everything", &everything)
        .server("filesystem", &filesystem)
        .server("memory", &memory)
        .server("time", &time)
        .server("git", &git);
    let world = Proxy::new(&config);
    let report = world.run(["lock", "--yes", "--json"]).await.expect(0).json();
    let servers = report["servers"].as_array().expect("a list");
    let items: Vec<_> = servers.iter().flat_map(|server| server["items"].as_array().expect("items")).collect();
    let of_items = items.iter().map(|item| &item["findings"]).chain(servers.iter().map(|server| &server["findings"]));
    let findings: Vec<_> = of_items.flat_map(|found| found.as_array().expect("findings")).collect();
    assert!(items.len() > 40, "{}", items.len());
    assert!(findings.len() * 100 <= items.len(), "more than one in a hundred: {findings:#?}");
    let check = world.run(["lock", "--check"]).await.expect(0);
    assert_eq!(check.stdout.lines().filter(|line| line.ends_with(": as approved")).count(), 5, "{}", check.stdout);
    let tools = async || world.run(["list-tools", "--live", "--json"]).await.expect(0).json();
    let locked = tools().await;
    std::fs::remove_file(world.directory.path().join("proxy.lock")).expect("there is a lock");
    assert_eq!(locked, tools().await, "a lock changes nothing of servers that are as approved");
}
