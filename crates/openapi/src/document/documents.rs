//! The description and the files that it refers to. All are read before anything is made of them.

use std::collections::{HashMap, VecDeque};

use super::node::Node;
use super::reference::{self, Target};

/// The maximum number of files, and how many references may lead from one to the next.
const MAX_FILES: usize = 200;
const MAX_CHAIN: usize = 32;

/// Reads the files that a description refers to.
pub trait OtherFiles {
    /// The value in a file at this path, which is relative to the folder of the description and has no `..`. A file outside
    /// the folder, by a link, must not be read. The error is a clause such as "there is no such file".
    fn read(&self, path: &str) -> Result<serde_json::Value, String>;
}

/// No files: for a description from a URL.
impl OtherFiles for () {
    fn read(&self, _: &str) -> Result<serde_json::Value, String> {
        Err("a description from a URL must not refer to other files".to_owned())
    }
}

#[derive(Debug)]
pub(crate) struct Documents {
    /// Paths relative to the folder of the description, which is the first.
    list: Vec<(String, Node)>,
    by_path: HashMap<String, usize>,
    unread: HashMap<String, String>,
}

/// A value and the document that its references are relative to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'d> {
    pub(crate) document: usize,
    pub(crate) node: &'d Node,
}

impl<'d> Place<'d> {
    pub(crate) fn at(self, node: &'d Node) -> Self {
        Place { node, ..self }
    }

    pub(crate) fn get(self, name: &str) -> Option<Self> {
        self.node.get(name).map(|node| self.at(node))
    }
}

/// What a reference names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) document: usize,
    pub(crate) pointer: String,
}

impl Documents {
    /// Reads all files that the description refers to, directly or through other files.
    pub(crate) fn new(file: &str, root: Node, others: &dyn OtherFiles) -> Self {
        let mut documents = Documents {
            list: vec![(file.to_owned(), root)],
            by_path: HashMap::from([(file.to_owned(), 0)]),
            unread: HashMap::new(),
        };
        let mut next = 0;
        while next < documents.list.len() {
            for path in named_files(&documents.list[next].1, &documents.list[next].0) {
                if documents.by_path.contains_key(&path) || documents.unread.contains_key(&path) {
                    continue;
                }
                let read = if documents.list.len() + documents.unread.len() < MAX_FILES {
                    others.read(&path).and_then(|value| super::read_value(&value))
                } else {
                    Err(format!("the description refers to more than {MAX_FILES} files"))
                };
                match read {
                    Ok(node) => {
                        documents.by_path.insert(path.clone(), documents.list.len());
                        documents.list.push((path, node));
                    }
                    Err(reason) => {
                        documents.unread.insert(path, reason);
                    }
                }
            }
            next += 1;
        }
        documents
    }

    pub(crate) fn root(&self) -> Place<'_> {
        Place { document: 0, node: &self.list[0].1 }
    }

    /// What a reference in this document names.
    pub(crate) fn resolve(&self, document: usize, reference: &str) -> Result<(Key, Place<'_>), String> {
        let (document, pointer) = match reference::parse(reference, &self.list[document].0)? {
            Target::Same(pointer) => (document, pointer),
            Target::File(path, pointer) => match self.by_path.get(&path) {
                Some(document) => (*document, pointer),
                None => {
                    let reason = self.unread.get(&path).map_or("it was not read", String::as_str);
                    return Err(format!("`{reference}` cannot be read: {reason}"));
                }
            },
        };
        let (_, root) = &self.list[document];
        let node = reference::follow(root, &pointer).ok_or_else(|| format!("`{reference}` leads nowhere"))?;
        Ok((Key { document, pointer: pointer.into_owned() }, Place { document, node }))
    }

    /// The object behind a Reference Object: a path item, parameter, request body or response.
    pub(crate) fn object<'d>(&'d self, mut place: Place<'d>) -> Result<Place<'d>, String> {
        for _ in 0..MAX_CHAIN {
            let Some(reference) = place.node.text_of("$ref") else { return Ok(place) };
            (_, place) = self.resolve(place.document, reference)?;
        }
        Err(format!("more than {MAX_CHAIN} references lead from one to the next, or in a circle"))
    }
}

/// The other files that the references in a document name.
fn named_files(root: &Node, file: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = VecDeque::from([root]);
    while let Some(node) = open.pop_front() {
        match node {
            Node::Map(map) => {
                if let Some(reference) = node.text_of("$ref")
                    && let Ok(Target::File(path, _)) = reference::parse(reference, file)
                {
                    found.push(path);
                }
                open.extend(map.iter().map(|(_, member)| member));
            }
            Node::List(items) => open.extend(items.iter()),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::{Value, json};

    use super::super::read::read_value;
    use super::*;

    /// Files in memory, and which were asked for.
    struct Folder(Vec<(&'static str, Value)>, RefCell<Vec<String>>);

    impl OtherFiles for Folder {
        fn read(&self, path: &str) -> Result<Value, String> {
            self.1.borrow_mut().push(path.to_owned());
            let found = self.0.iter().find(|(name, _)| *name == path);
            found.map(|(_, value)| value.clone()).ok_or_else(|| "there is no such file".to_owned())
        }
    }

    fn documents(root: &Value, files: Vec<(&'static str, Value)>) -> (Documents, Vec<String>) {
        let folder = Folder(files, RefCell::default());
        let documents = Documents::new("api.yaml", read_value(root).unwrap(), &folder);
        (documents, folder.1.into_inner())
    }

    #[test]
    fn files_refer_to_files_relative_to_themselves() {
        let root = json!({"a": {"$ref": "parts/a.yaml#/A"}, "b": {"$ref": "../secret"}, "c": {"$ref": "none.yaml"}});
        let a = json!({"A": {"$ref": "b.yaml"}, "back": {"$ref": "../api.yaml#/a"}});
        let (documents, asked) = documents(&root, vec![("parts/a.yaml", a), ("parts/b.yaml", json!({"name": "B"}))]);
        assert_eq!(asked, ["parts/a.yaml", "none.yaml", "parts/b.yaml"], "each once, and nothing outside");
        let found = documents.object(documents.root().get("a").unwrap()).unwrap();
        assert_eq!(found.node.text_of("name"), Some("B"));
        let problem = |name: &str| documents.object(documents.root().get(name).unwrap()).unwrap_err();
        assert!(problem("b").contains("outside the folder"), "{}", problem("b"));
        assert!(problem("c").ends_with("there is no such file"), "{}", problem("c"));
    }

    #[test]
    fn a_circle_of_references_ends() {
        let (documents, _) =
            documents(&json!({"a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}, "c": {"$ref": "#/x"}}), vec![]);
        let problem = |name: &str| documents.object(documents.root().get(name).unwrap()).unwrap_err();
        assert!(problem("a").contains("circle"));
        assert_eq!(problem("c"), "`#/x` leads nowhere");
    }
}
