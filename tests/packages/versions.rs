//! Every package has the version of `Cargo.toml`, and the parts of a release name each other rightly.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::build::{VERSION, built, unpack};
use super::in_checkout;
use crate::support::finished::Finished;
use crate::support::real_servers::missing;
use crate::support::temp_dir::TempDir;

fn json(file: &Path) -> Value {
    let text = fs::read_to_string(file).unwrap_or_else(|problem| panic!("{}: {problem}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|problem| panic!("{}: {problem}", file.display()))
}

/// The packages with this end.
fn packages(end: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages")).expect("a folder").flatten();
    let mut found: Vec<PathBuf> =
        all.map(|file| file.path()).filter(|file| file.to_string_lossy().ends_with(end)).collect();
    found.sort();
    found
}

#[tokio::test]
async fn npm_packages_have_the_version_and_want_each_other() {
    let dist = built().await;
    let folder = TempDir::new();
    let manifest = async |name: &str| {
        let place = folder.path().join(name);
        unpack(&dist.join(format!("{name}-{VERSION}.tgz")), &place).await;
        json(&place.join("package/package.json"))
    };

    let main = manifest("starlark-mcp-proxy").await;

    assert_eq!(main["version"], VERSION);
    assert_eq!(main["scripts"], Value::Null, "nothing runs while it is installed");
    let wanted = main["optionalDependencies"].as_object().expect("one a platform");
    assert_eq!(wanted.len(), 2);
    for (name, version) in wanted {
        assert_eq!(version, VERSION);
        let platform = manifest(name).await;
        assert_eq!((&platform["name"], &platform["version"]), (&Value::from(name.as_str()), &Value::from(VERSION)));
        let system = platform["os"][0].as_str().expect("a system");
        let processor = platform["cpu"][0].as_str().expect("a processor");
        assert_eq!(*name, format!("starlark-mcp-proxy-{system}-{processor}"), "as start.js looks for it");
    }
}

#[tokio::test]
async fn archives_and_wheels_have_the_version() {
    built().await;
    let folder = TempDir::new();
    for wheel in packages(".whl") {
        let place = folder.path().join(wheel.file_name().expect("a name"));
        unpack(&wheel, &place).await;
        let about = place.join(format!("starlark_mcp_proxy-{VERSION}.dist-info"));
        let metadata = fs::read_to_string(about.join("METADATA")).expect("metadata");
        assert!(metadata.contains(&format!("\nVersion: {VERSION}\n")), "{metadata}");
        let record = fs::read_to_string(about.join("RECORD")).expect("a record");
        assert!(record.contains(&format!("starlark_mcp_proxy-{VERSION}.data/scripts/starlark-mcp-proxy,sha256=")));
    }
    for archive in packages("-linux-static.tar.gz") {
        unpack(&archive, folder.path()).await;
        let name = archive.file_name().and_then(|name| name.to_str()).expect("a name");
        let unpacked = folder.path().join(name.trim_end_matches(".tar.gz"));
        assert!(name.starts_with(&format!("starlark-mcp-proxy-{VERSION}-")), "{name}");
        let page = fs::read_to_string(unpacked.join("man/proxy-serve.1")).expect("a page");
        assert!(page.contains(&format!("starlark-mcp-proxy {VERSION}")), "{page}");
        assert_eq!(json(&unpacked.join("sbom.cdx.json"))["metadata"]["component"]["version"], VERSION);
    }
    assert_eq!((packages(".whl").len(), packages("-linux-static.tar.gz").len()), (2, 2));
}

#[tokio::test]
async fn the_bill_of_materials_has_what_is_linked_with_its_licence() {
    let dist = built().await;

    let sbom = json(&dist.join(format!("starlark-mcp-proxy-{VERSION}.cdx.json")));

    let components = sbom["components"].as_array().expect("components");
    let named = |name: &str| components.iter().find(|component| component["name"] == name);
    let tokio = named("tokio").expect("it is linked");
    assert_eq!(tokio["licenses"][0]["expression"], "MIT");
    assert_eq!(tokio["hashes"][0]["content"].as_str().map(str::len), Some(64));
    // Tests and build scripts are not in the binary.
    assert!(named("proptest").is_none() && named("cc").is_none());
    assert_eq!(sbom["dependencies"][0]["dependsOn"].as_array().map(Vec::len), Some(components.len()));
}

#[tokio::test]
async fn debian_packages_have_the_version() {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        let _: Option<()> = missing("there is no `dpkg-deb`");
        return;
    }
    built().await;
    let folder = TempDir::new();
    for (package, architecture) in packages(".deb").iter().zip(["amd64", "arm64"]) {
        let place = folder.path().join(architecture);
        unpack(package, &place).await;
        let control = fs::read_to_string(place.join("DEBIAN/control")).expect("a control file");
        assert!(control.contains(&format!("\nVersion: {VERSION}\nArchitecture: {architecture}\n")), "{control}");
        let unit = fs::read_to_string(place.join("usr/lib/systemd/system/mcp-proxy.service")).expect("a unit");
        assert!(unit.contains("\nExecStart=/usr/bin/proxy serve --http "), "{unit}");
        assert!(place.join("usr/bin/proxy").is_file() && place.join("usr/bin/starlark-mcp-proxy").is_file());
        for script in ["postinst", "prerm", "postrm"] {
            let mut parse = Command::new("sh");
            parse.arg("-n").arg(place.join("DEBIAN").join(script));
            Finished::run(parse).await.expect(0);
        }
    }
}

#[tokio::test]
async fn what_clients_look_for_has_the_version_and_the_digests() {
    let dist = built().await;
    let folder = TempDir::new();

    let entry = json(&dist.join("server.json"));

    assert_eq!(entry["version"], VERSION);
    // What the registry asks for: schema 2025-12-11.
    let description = entry["description"].as_str().expect("text");
    assert!(description.len() <= 100, "{}", description.len());
    let (space, name) = entry["name"].as_str().and_then(|name| name.split_once('/')).expect("a name of an owner");
    let is_plain = |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || ".-_".contains(letter));
    assert!(is_plain(space) && is_plain(name), "{space}/{name}");
    let listed = entry["packages"].as_array().expect("packages");
    for kind in ["npm", "pypi", "oci"] {
        assert!(listed.iter().any(|package| package["registryType"] == kind), "{kind}");
    }
    for package in listed {
        assert_eq!(package["transport"]["type"], "stdio");
        let tagged = package["identifier"].as_str().is_some_and(|image| image.ends_with(&format!(":{VERSION}")));
        // An image has its version in the tag only.
        let is_image = package["registryType"] == "oci";
        let has_version = if is_image { tagged && package["version"].is_null() } else { package["version"] == VERSION };
        assert!(has_version, "{package}");
    }
    for bundle in packages(".mcpb") {
        let name = bundle.file_name().and_then(|name| name.to_str()).expect("a name");
        let mut digest = Command::new("sha256sum");
        digest.arg(&bundle);
        let digest = Finished::run(digest).await.expect(0).stdout[..64].to_owned();
        let is_it = |package: &&Value| package["identifier"].as_str().is_some_and(|url| url.ends_with(name));
        assert_eq!(listed.iter().find(is_it).expect(name)["fileSha256"], digest);
        let place = folder.path().join(name);
        unpack(&bundle, &place).await;
        assert_eq!(json(&place.join("manifest.json"))["version"], VERSION);
    }
    unpack(&dist.join(format!("starlark-mcp-proxy-{VERSION}-claude-plugin.tar.gz")), folder.path()).await;
    let plugin = folder.path().join("starlark-mcp-proxy/.claude-plugin/plugin.json");
    assert_eq!(json(&plugin)["version"], VERSION);
}

#[test]
fn a_client_asks_for_the_config_of_every_package_in_the_registry() {
    let entry = json(&in_checkout("packages/server.json"));
    let asked = |package: &Value| {
        let variable = package["environmentVariables"][0].clone();
        let mounted = package["runtimeArguments"][0]["variables"]["config"].clone();
        // A container has other files, so it gets the file and not its name.
        if package["registryType"] == "oci" { mounted } else { variable }
    };
    for package in entry["packages"].as_array().expect("packages") {
        let config = asked(package);
        assert_eq!(
            (&config["format"], &config["isRequired"]),
            (&Value::from("filepath"), &Value::from(true)),
            "{package}"
        );
        assert!(package["registryType"] == "oci" || config["name"] == "PROXY_CONFIG", "{package}");
    }
}

#[test]
fn every_image_has_the_name_that_is_published() {
    let image = json(&in_checkout("packages/names.json"))["image"].clone();
    let kustomization = fs::read_to_string(in_checkout("contrib/kubernetes/kustomization.yaml")).expect("it is there");
    let kustomization = crate::support::yaml::parse(&kustomization);
    assert_eq!(kustomization["images"][0]["newName"], image);
}

#[test]
fn what_names_a_version_by_hand_names_this_one() {
    for (file, text) in [
        ("contrib/kubernetes/kustomization.yaml", format!("newTag: {VERSION}\n")),
        ("docs/getting-started/installation.md", format!("starlark-mcp-proxy-{VERSION}-x86_64-linux-static.tar.gz")),
    ] {
        let whole = fs::read_to_string(in_checkout(file)).expect(file);
        assert!(whole.contains(&text), "{file} does not have `{}`", text.trim());
    }
}
