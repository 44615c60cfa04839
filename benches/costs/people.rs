//! People with accounts of their own, who have logged in.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use proxy_json::hex;
use serde_json::json;
use sha2::{Digest, Sha256};

/// The name of the server at which they have accounts.
pub const SERVER: &str = "crm";

/// The section with a token for each of these people.
pub fn tokens(people: usize) -> String {
    let tokens: Vec<String> =
        (0..people).map(|number| format!("{{ token: {}, sub: {} }}", token(number), name(number))).collect();
    format!("auth: {{ tokens: [{}] }}\n", tokens.join(", "))
}

/// The header with the token of a person.
pub fn header(number: usize) -> String {
    format!("authorization: Bearer {}\r\n", token(number))
}

fn token(number: usize) -> String {
    format!("token-of-person-{number:06}")
}

fn name(number: usize) -> String {
    format!("person{number}")
}

/// A folder for the state of a proxy, with the log-ins of these people at the server with this URL.
pub fn logged_in(folder: &Path, url: &str, people: usize) -> PathBuf {
    let state = folder.join("state-of-people");
    let program = state.join("starlark-mcp-proxy");
    let records = program.join("credentials");
    fs::create_dir_all(&records).unwrap();
    for private in [&program, &records] {
        fs::set_permissions(private, Permissions::from_mode(0o700)).unwrap();
    }
    for number in 0..people {
        let person = name(number);
        let key = hex(&Sha256::digest([SERVER, url, "", "static", &person].join("\0")));
        let record = json!({
            "form": 2, "entry": SERVER, "person": person, "realm": "static", "server_url": url,
            "authorization_server": {
                "issuer": url, "token_endpoint": url, "scopes_supported": [], "takes_documents": false,
                "names_itself": false,
            },
            "tokens": {
                "log_in": "1", "access_token": format!("account-of-{person}"), "refresh_token": null, "obtained_at": 1,
            },
            "requested_scopes": [], "granted_scopes": [], "wanted_scopes": [], "step_ups": 0,
        });
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(records.join(format!("{key}.json")))
            .unwrap();
        file.write_all(record.to_string().as_bytes()).unwrap();
    }
    state
}
