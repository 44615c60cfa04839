//! The module `sqlite`: SQLite databases in files.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneOr;

use super::{perform, statement};
use crate::extension::client_folders::folder_for;
use proxy_host_io::{Statement, Wants, sqlite};

/// Queries SQLite databases in the extension's folder or in folders listed in `allowed_paths`. `params` is a list for
/// `?`, or a dict for `:name`. Bytes are `{"base64": "..."}` in both directions. ATTACH and load_extension() are
/// refused. `:memory:` is an empty database for one statement.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// Runs a read-only statement and returns its rows as a list of dicts. A statement that writes is an error.
    ///
    /// ```python
    /// sqlite.execute("shop.db", "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, total REAL)")
    /// sqlite.execute("shop.db", "INSERT INTO orders (total) VALUES (:total)", {"total": 120})
    /// large = sqlite.query("shop.db", "SELECT * FROM orders WHERE total > ?", [100])
    /// ```
    fn query<'v>(
        path: &str,
        sql: &str,
        #[starlark(default = NoneOr::None)] params: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        run("sqlite.query", statement(path, sql, params, Wants::Rows, eval)?, eval)
    }

    /// Runs a statement and returns the number of changed rows. Creates the file if there is none.
    fn execute<'v>(
        path: &str,
        sql: &str,
        #[starlark(default = NoneOr::None)] params: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        run("sqlite.execute", statement(path, sql, params, Wants::Count, eval)?, eval)
    }

    /// Lists the tables: a list of dicts with `name`.
    fn list_tables<'v>(path: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        run("sqlite.list_tables", sqlite::list_tables(path), eval)
    }

    /// Returns a table's columns: a list of dicts with `cid`, `name`, `type`, `notnull`, `dflt_value` and `pk`.
    fn describe_table<'v>(path: &str, table: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        run("sqlite.describe_table", sqlite::describe_table(path, table), eval)
    }
}

fn run<'v>(kind: &'static str, statement: Statement, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
    let (recorded, folder) = (statement.clone(), folder_for(&statement.database, eval)?);
    perform(kind, &recorded, eval, |_| async move { sqlite::perform(&folder, &statement).await })
}
