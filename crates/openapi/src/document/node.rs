//! A description as a tree that is read once and never changed. Descriptions are large, and a node is much smaller than a
//! `serde_json::Value`, which keeps a hash table for each object.

/// One value of a description.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    /// As written.
    Number(Box<str>),
    Text(Box<str>),
    List(Box<[Node]>),
    Map(Box<NodeMap>),
}

/// The members of an object, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NodeMap {
    entries: Box<[(Box<str>, Node)]>,
    /// The positions of the members, sorted by name, if there are many: a description may have a hundred thousand schemas,
    /// and each is looked up by name.
    by_name: Box<[u32]>,
}

/// Up to this many members, a scan is as fast as a search.
const SCANNED: usize = 16;

impl NodeMap {
    pub(crate) fn new(entries: Vec<(Box<str>, Node)>) -> Self {
        let entries = entries.into_boxed_slice();
        let mut by_name = Vec::new();
        if entries.len() > SCANNED {
            by_name.extend(0..u32::try_from(entries.len()).unwrap_or(u32::MAX));
            // The sort is stable, so the first of several members with one name stays the first.
            by_name.sort_by(|one, other| entries[*one as usize].0.cmp(&entries[*other as usize].0));
        }
        NodeMap { entries, by_name: by_name.into_boxed_slice() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        if self.by_name.is_empty() {
            return self.entries.iter().find(|(key, _)| **key == *name).map(|(_, node)| node);
        }
        let first = self.by_name.partition_point(|at| *self.entries[*at as usize].0 < *name);
        let (key, node) = &self.entries[*self.by_name.get(first)? as usize];
        if **key == *name { Some(node) } else { None }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.entries.iter().map(|(key, node)| (&**key, node))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(key, _)| &**key)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

impl Node {
    pub(crate) fn map(&self) -> Option<&NodeMap> {
        if let Node::Map(map) = self { Some(map) } else { None }
    }

    pub(crate) fn list(&self) -> Option<&[Node]> {
        if let Node::List(items) = self { Some(items) } else { None }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Node::Text(text) = self { Some(text) } else { None }
    }

    /// The member of an object; `None` for any other value.
    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        self.map()?.get(name)
    }

    /// The text of a member.
    pub(crate) fn text_of(&self, name: &str) -> Option<&str> {
        self.get(name)?.text()
    }

    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name) == Some(&Node::Bool(true))
    }

    /// The items of a member that is a list; none if it is something else.
    pub(crate) fn items_of(&self, name: &str) -> &[Node] {
        self.get(name).and_then(Node::list).unwrap_or_default()
    }

    /// The members of a member that is an object; none if it is something else.
    pub(crate) fn members_of(&self, name: &str) -> impl Iterator<Item = (&str, &Node)> {
        self.get(name).and_then(Node::map).into_iter().flat_map(NodeMap::iter)
    }

    /// Writes the value as JSON.
    pub(crate) fn write_json(&self, out: &mut String) {
        match self {
            Node::Null => out.push_str("null"),
            Node::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Node::Number(text) => out.push_str(text),
            Node::Text(text) => proxy_json::push_quoted(out, text),
            Node::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write_json(out);
                }
                out.push(']');
            }
            Node::Map(map) => {
                out.push('{');
                for (index, (key, node)) in map.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    proxy_json::push_quoted(out, key);
                    out.push(':');
                    node.write_json(out);
                }
                out.push('}');
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_small() {
        assert!(size_of::<Node>() * 2 <= size_of::<serde_json::Value>());
    }

    #[test]
    fn members_of_large_maps_are_found_by_name() {
        let entry = |number: i32| (Box::from(format!("n{number}")), Node::Number(number.to_string().into()));
        let map = NodeMap::new((0..1000).rev().map(entry).collect());
        assert_eq!(map.get("n0"), Some(&Node::Number("0".into())));
        assert_eq!(map.get("n999"), Some(&Node::Number("999".into())));
        assert_eq!((map.get("n1000"), map.get(""), map.get("z")), (None, None, None));
        assert_eq!(map.keys().next(), Some("n999"), "in the order of the description");
    }
}
