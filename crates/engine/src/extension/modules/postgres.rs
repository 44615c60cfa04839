//! The module `postgres`: PostgreSQL databases.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneOr;

use super::{perform, statement};
use proxy_host_io::{Statement, Wants, postgres};

/// Queries PostgreSQL databases. `connection` is `postgresql://user:password@host:5432/database`, best read with
/// `env.get()`. Connections are pooled. `params` is a list for `$1`, `$2`; each value is converted to its parameter's
/// type.
///
/// Numbers (`numeric` too) become numbers, dates and times ISO 8601 strings, `json` values, arrays lists, `uuid` and
/// enums strings, `bytea` `{"base64": "..."}`, and NULL None. A database without a public address is accessible only if
/// `allowed_hosts` lists its host (`localhost` for a Unix socket). `sslmode` in the connection string selects TLS and
/// certificate verification, up to `verify-full`; `sslrootcert` names a root certificate file in the extension's
/// folder.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// Runs a statement and returns its rows as a list of dicts: `postgres.query(connection, "SELECT * FROM users WHERE id = $1", [7])`.
    fn query<'v>(
        connection: &str,
        sql: &str,
        #[starlark(default = NoneOr::None)] params: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        run("postgres.query", statement(connection, sql, params, Wants::Rows, eval)?, eval)
    }

    /// Runs a statement and returns the number of changed rows.
    fn execute<'v>(
        connection: &str,
        sql: &str,
        #[starlark(default = NoneOr::None)] params: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        run("postgres.execute", statement(connection, sql, params, Wants::Count, eval)?, eval)
    }

    /// Lists a schema's tables: a list of dicts with `tablename` and `name` (the same).
    fn list_tables<'v>(
        connection: &str,
        #[starlark(default = "public")] schema: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        run("postgres.list_tables", postgres::list_tables(connection, schema), eval)
    }

    /// Returns a table's columns: a list of dicts with `column_name`, `data_type`, `is_nullable` ("YES" or "NO"),
    /// `column_default` and `character_maximum_length`. The first two are also available as `name` and `type`, as in
    /// `sqlite`.
    fn describe_table<'v>(
        connection: &str,
        table: &str,
        #[starlark(default = "public")] schema: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        run("postgres.describe_table", postgres::describe_table(connection, table, schema), eval)
    }
}

fn run<'v>(kind: &'static str, statement: Statement, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
    let recorded = statement.clone();
    perform(kind, &recorded, eval, |runtime| async move {
        postgres::perform(&runtime.host_io.postgres, &runtime.permissions().hosts, runtime.folder(), &statement).await
    })
}
