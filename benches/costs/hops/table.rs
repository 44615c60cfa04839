//! One row for each kind of server.

/// What was measured in each round, in microseconds; empty where there is no such hop.
#[derive(Default)]
pub struct Row {
    what: String,
    pub direct: Vec<f64>,
    pub nginx: Vec<f64>,
    pub plain: Vec<f64>,
    pub wrapped: Vec<f64>,
    pub nginx_cpu: Vec<f64>,
    pub plain_cpu: Vec<f64>,
    pub wrapped_cpu: Vec<f64>,
}

pub fn head() {
    println!("{:<32} {:^36} {:^30}", "", "one at a time, half take at most (µs)", "CPU at 32 at once (µs)");
    println!(
        "{:<32} {:>8} {:>8} {:>8} {:>8}   {:>8} {:>8} {:>8}",
        "server", "direct", "nginx", "proxy", "wrapped", "nginx", "proxy", "wrapped"
    );
}

impl Row {
    pub fn new(what: &str) -> Self {
        Row { what: what.to_owned(), ..Row::default() }
    }

    pub fn print(&self) {
        let direct = middle(&self.direct);
        let over = |measured: &[f64]| match (middle(measured), direct) {
            (Some(measured), Some(direct)) => format!("{:.1}x", measured / direct),
            (Some(measured), None) => format!("{measured:.0}"),
            (None, _) => "–".to_owned(),
        };
        let plain = |measured: &[f64]| middle(measured).map_or("–".to_owned(), |measured| format!("{measured:.0}"));
        println!(
            "{:<32} {:>8} {:>8} {:>8} {:>8}   {:>8} {:>8} {:>8}",
            self.what,
            plain(&self.direct),
            over(&self.nginx),
            over(&self.plain),
            over(&self.wrapped),
            plain(&self.nginx_cpu),
            plain(&self.plain_cpu),
            plain(&self.wrapped_cpu)
        );
    }
}

fn middle(measured: &[f64]) -> Option<f64> {
    let mut sorted = measured.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}
