//! Extensions: how long many of them take to load.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use starlark_mcp_proxy::extension::{candidates, open, read};
use starlark_mcp_proxy::fiber::Pool;
use starlark_mcp_proxy::host_io::HostIo;

/// One with a tool that does nothing but answer.
pub const TRIVIAL: &str = r#"
def echo(params):
    return "the answer"

def describe_extension():
    return Extension(name = "trivial", version = "1.0.0", tools = [Tool(
        name = "echo", description = "Answers", handler = echo,
        parameters = [ToolParameter(name = "text", param_type = "string"), ToolParameter(name = "number", param_type = "integer")],
    )])
"#;

/// Milliseconds for so many, each as long as the example `text`; the best of some runs.
pub fn loading(folder: &Path, count: usize) -> f64 {
    let folder = folder.join("many");
    fs::create_dir_all(&folder).unwrap();
    let text = include_str!("../../extensions/text.star");
    for number in 0..count {
        let own =
            text.replace("name = \"text\",\n        version", &format!("name = \"text{number}\",\n        version"));
        fs::write(folder.join(format!("text{number}.star")), own).unwrap();
    }
    let host_io = Arc::new(HostIo::new(Vec::new(), None));
    let load = || {
        let started = Instant::now();
        let pool = Pool::new(1);
        let files = candidates(&folder).unwrap();
        let loaded = files.iter().filter_map(|file| open(&read(file).unwrap(), &pool, &host_io).unwrap());
        assert_eq!(loaded.count(), count);
        started.elapsed().as_secs_f64() * 1e3
    };
    (0..5).map(|_| load()).fold(f64::INFINITY, f64::min)
}
