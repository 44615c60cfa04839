use std::path::PathBuf;

use super::{markdown, pages, root};

#[test]
fn every_page_begins_with_its_title_and_is_in_the_index() {
    let index = root().join("docs/README.md");
    let listed: Vec<PathBuf> = markdown::links(&index)
        .iter()
        .filter(|link| !link.contains("://"))
        .filter_map(|link| root().join("docs").join(link.split('#').next().unwrap_or_default()).canonicalize().ok())
        .collect();
    for page in pages().into_iter().chain([root().join("docs/reference/builtins.md")]) {
        let shown = markdown::name(&page);
        assert!(markdown::read(&page).starts_with("# "), "{shown} does not begin with a title");
        let is_document = page.starts_with(root().join("docs")) && page != index;
        assert!(!is_document || listed.contains(&page), "docs/README.md does not list {shown}");
    }
}

#[test]
fn every_local_link_leads_somewhere() {
    let mut checked = 0;
    let more = [root().join("CHANGELOG.md"), root().join("docs/reference/builtins.md")];
    for page in pages().iter().chain(&more) {
        let folder = page.parent().expect("a page is in a folder");
        for link in markdown::links(page).iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { folder.join(file) };
            let shown = markdown::name(page);
            assert!(target.exists(), "{shown} links to `{link}`, which is not there");
            if !anchor.is_empty() {
                let known = markdown::anchors(&target);
                assert!(known.iter().any(|known| known == anchor), "{shown} links to `{link}`; there is {known:?}");
            }
            checked += 1;
        }
    }
    assert!(checked > 10, "only {checked} links were found");
}
