//! Every web page and every process of the machine can send requests to the port of the console. They get nothing.

use serde_json::json;

use super::{Console, get, post, serving, with_token};
use crate::support::config::Config;
use crate::support::http_request::HttpRequest;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

async fn shown() -> (StdioProxy, Console) {
    let config = Config::new().server("fake", &fake_backend(["--only", "echo"]));
    let proxy = serving(Proxy::new(&config)).await;
    let console = Console::start(&proxy.world).await;
    (proxy, console)
}

#[tokio::test]
async fn the_address_is_worth_one_token() {
    let (_proxy, mut console) = shown().await;
    let wrong = console.redeem("0123456789abcdef0123456789abcdef").await;
    assert_eq!((wrong.status, wrong.error().as_str()), (401, "this code is wrong"));
    let token = console.log_in().await;
    let used = console.redeem(&console.code).await;
    assert!(used.status == 401 && used.error().starts_with("this code was already used"), "{used:?}");
    assert!(used.json()["hint"].as_str().is_some_and(|hint| hint.starts_with("press Enter")), "{used:?}");
    let status = console.ask(&with_token(get(), &token), "/api/status").await;
    assert_eq!(status.status, 200, "{status:?}");

    let first = console.code.clone();
    console.press_enter().await;
    assert_eq!(console.redeem(&first).await.error(), "this code is wrong");
    for _ in 0..4 {
        console.redeem("guessed").await;
    }
    let guessed = console.redeem(&console.code).await;
    assert!(guessed.status == 401 && guessed.error().contains("too many wrong attempts"), "{guessed:?}");
    console.press_enter().await;
    let second = console.log_in().await;
    for token in [&token, &second] {
        assert_eq!(console.ask(&with_token(get(), token), "/api/status").await.status, 200);
    }
    console.program.interrupt();
    assert!(console.program.exit().await.success());
}

#[tokio::test]
async fn what_is_not_of_the_page_itself_is_refused() {
    let (_proxy, console) = shown().await;
    let token = console.log_in().await;
    let own = |request| with_token(request, &token);
    let status = || own(get());
    let elsewhere = format!("http://{}", console.host.replace("127.0.0.1", "127.0.0.2"));
    let same = format!("http://{}", console.host);
    let call = json!({"kind": "tool", "key": "echo", "params": {}});
    let form = HttpRequest { body: Some(call.to_string().into_bytes()), ..HttpRequest::bare("POST") };
    for (what, request, path, expected) in [
        ("a name that was made to lead here", status().header("Host", "evil.example"), "/api/status", 403),
        ("the same, for the page", get().header("Host", "evil.example"), "/", 403),
        ("another page", status().header("Origin", "https://evil.example"), "/api/status", 403),
        ("another port of this machine", status().header("Origin", &elsewhere), "/api/status", 403),
        ("a page without an origin", status().header("Origin", "null"), "/", 403),
        ("another site", status().header("Sec-Fetch-Site", "cross-site"), "/api/status", 403),
        ("another port", get().header("Sec-Fetch-Site", "same-site"), "/", 403),
        ("its preflight", HttpRequest::bare("OPTIONS").header("Origin", "https://evil.example"), "/api/call", 403),
        ("nobody", get(), "/api/status", 401),
        ("the code as a token", with_token(get(), &console.code), "/api/status", 401),
        ("an older cookie", get().header("Cookie", &format!("token={token}")), "/api/status", 401),
        ("a token in the address", get(), &format!("/api/status?token={token}"), 401),
        ("a form", own(form.clone()), "/api/call", 415),
        ("a form of text", own(form.header("Content-Type", "text/plain")), "/api/call", 415),
        ("a method that the page does not use", own(get()), "/api/exec", 404),
        ("no call", own(get()), "/api/call", 405),
        ("no page", post(&call), "/", 405),
        ("a file of the machine", get(), "/../Cargo.toml", 404),
        ("an unknown file", get(), "/nothing.js", 404),
        (
            "a request of the page",
            status().header("Origin", &same).header("Sec-Fetch-Site", "same-origin"),
            "/api/status",
            200,
        ),
        ("a person", get().header("Sec-Fetch-Site", "none"), "/", 200),
    ] {
        let answer = console.ask(&request, path).await;
        assert_eq!(answer.status, expected, "{what}: {answer:?}");
        assert!(!answer.head.contains("access-control-"), "{what}: {answer:?}");
        for header in [
            "\r\ncontent-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
             connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
             require-trusted-types-for 'script'\r\n",
            "\r\nx-content-type-options: nosniff\r\n",
            "\r\nreferrer-policy: no-referrer\r\n",
            "\r\ncross-origin-opener-policy: same-origin\r\n",
            "\r\ncross-origin-resource-policy: same-origin\r\n",
            "\r\ncache-control: no-store\r\n",
        ] {
            assert!(format!("{}\r\n", answer.head).contains(header), "{what}: {header}: {answer:?}");
        }
        assert!(!answer.head.contains("set-cookie"), "{what}: {answer:?}");
    }
    let page = console.ask(&get(), "/").await;
    assert!(page.head.contains("content-type: text/html; charset=utf-8") && page.body.starts_with("<!"), "{page:?}");
    assert!(!page.body.contains(&token) && !page.body.contains(&console.code), "the page itself has no secret");
    let log = console.program.stderr.text();
    assert!(!log.contains(&token) && !log.contains(&console.code), "{log}");
}

#[tokio::test]
async fn it_is_said_why_there_is_no_console() {
    let config = Config::new().server("fake", &fake_backend(["--only", "echo"]));
    let none = Proxy::new(&config).run(["console", "--no-browser"]).await.expect(1);
    assert!(none.stderr.starts_with("error: no `proxy serve` of this user is running\n"), "{}", none.stderr);
    let (proxy, console) = shown().await;
    let port = console.host.rsplit(':').next().unwrap_or_default();
    let taken = proxy.world.run(["console", "--no-browser", "--port", port]).await.expect(1);
    assert!(taken.stderr.contains(&format!("cannot listen on port {port}: ")), "{}", taken.stderr);
}
