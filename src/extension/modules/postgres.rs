//! The module `postgres`: databases behind a connection string.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneOr;

use super::{act, statement};
use crate::host_io::{Statement, Wants, postgres};

/// PostgreSQL. `connection` is `postgresql://user:password@host:5432/database`, best from `env.get()`; connections are
/// kept and used again. `params` is a list for `$1`, `$2`; each is read as the type the statement has there.
///
/// Numbers are numbers (`numeric` too), dates and times ISO 8601 text, `json` values, arrays lists, `uuid` and enums
/// text, `bytea` is `{"base64": "..."}`, NULL is None. If `allowed_hosts` is given, only databases on those hosts.
/// `sslmode` in the connection says whether TLS is used and how the certificate is checked, up to `verify-full`;
/// `sslrootcert` names a file of authorities in the extension's folder.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// The rows a statement gives, as a list of dicts: `postgres.query(connection, "SELECT * FROM users WHERE id = $1", [7])`.
    fn query<'v>(
        connection: &str,
        sql: &str,
        #[starlark(default = NoneOr::None)] params: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        run("postgres.query", statement(connection, sql, params, Wants::Rows, eval)?, eval)
    }

    /// How many rows a statement has changed.
    fn execute<'v>(
        connection: &str,
        sql: &str,
        #[starlark(default = NoneOr::None)] params: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        run("postgres.execute", statement(connection, sql, params, Wants::Count, eval)?, eval)
    }

    /// The tables of a schema: a list of dicts with `tablename` and `name` (the same).
    fn list_tables<'v>(
        connection: &str,
        #[starlark(default = "public")] schema: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        run("postgres.list_tables", postgres::list_tables(connection, schema), eval)
    }

    /// The columns of a table: a list of dicts with `column_name`, `data_type`, `is_nullable` ("YES" or "NO"),
    /// `column_default`, `character_maximum_length`, and `name` and `type` as `sqlite` calls the first two.
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
    let asked = statement.clone();
    act(kind, &asked, eval, |world| async move {
        postgres::perform(&world.reach.postgres, &world.permissions().hosts, world.folder(), &statement).await
    })
}
