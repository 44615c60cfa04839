//! Files without a value: an error with the key, the line and the cure, which the start and `check` tell alike.

use std::os::unix::fs::PermissionsExt;

use super::{private, with_value};
use crate::support::proxy::Proxy;

/// What `check` and `serve` tell of a value.
async fn told(proxy: &Proxy) -> String {
    let [check, serve] = ["check", "serve"].map(|command| proxy.run([command]));
    let checked = check.await.expect(2).stderr;
    let served = serve.await.expect(2).stderr;
    assert!(checked.contains(served.lines().next().expect("a line")), "{checked}\n{served}");
    assert!(served.contains("error: `mcpServers.fake.env.KEY`: ") && served.contains("proxy.yaml:1:"), "{served}");
    assert!(!served.contains("s3cret"), "{served}");
    served
}

#[tokio::test]
async fn each_file_without_a_value_says_why() {
    let too_large = vec![b'x'; (64 << 10) + 1];
    for (bytes, expected) in [
        (&b""[..], "cannot use the file `key`: it is empty"),
        (b"\n", "cannot use the file `key`: it is empty"),
        (b"s3cret \xff", "cannot use the file `key`: it is not UTF-8"),
        (&too_large, "cannot use the file `key`: it is larger than 64 KiB"),
    ] {
        let told = told(&private(Proxy::new(&with_value("${file:key}")), "key", bytes)).await;
        assert!(told.contains(expected), "{told}");
    }
    let largest = private(Proxy::new(&with_value("${file:key}")), "key", &too_large[1..]);
    largest.run(["check"]).await.expect(0);
}

#[tokio::test]
async fn a_file_that_is_none_says_so() {
    let proxy = Proxy::new(&with_value("${file:key}"));
    let missing = told(&proxy).await;
    assert!(missing.contains("cannot use the file `key`: No such file"), "{missing}");
    assert!(missing.contains("relative to the folder of the config file"), "{missing}");
    proxy.directory.directory("key");
    assert!(told(&proxy).await.contains("cannot use the file `key`: it is not a regular file"));
    let pipe = proxy.directory.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    proxy.directory.write("proxy.yaml", &with_value("${file:pipe}").text());
    assert!(told(&proxy).await.contains("cannot use the file `pipe`: it is not a regular file"), "it waits for nobody");
    for (value, expected) in [
        ("${file:}", "names no file"),
        ("${file:~/key}", "`~` is not replaced"),
        ("${file:${HOME}/key}", "is not replaced"),
    ] {
        proxy.directory.write("proxy.yaml", &with_value(value).text());
        let told = told(&proxy).await;
        assert!(told.contains(expected), "{told}");
    }
}

#[tokio::test]
async fn a_file_that_every_user_may_write_is_refused_until_that_is_mended() {
    let proxy = private(Proxy::new(&with_value("${file:key}")), "key", b"s3cret-1");
    let file = proxy.directory.path().join("key");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o646)).unwrap();
    let told = told(&proxy).await;
    assert!(told.contains("every user may write it") && told.contains("run `chmod o-w key`"), "{told}");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    proxy.run(["check"]).await.expect(0);
}

#[tokio::test]
async fn files_cannot_be_named_where_the_config_is_not_known_yet() {
    let proxy = private(Proxy::with_config_text("include: ['${file:key}']\n"), "key", b"other.yaml");
    let told = proxy.run(["check"]).await.expect(2).stderr;
    assert!(told.contains("`include[0]`: a file, a credential or a command cannot be used here"), "{told}");
}
