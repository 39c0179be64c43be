//! Categories of spending and income.

use quad_core::Result;
use quad_store::{Sql, params};

use crate::entity::{Entity, entity};
use crate::ids::CategoryId;
use crate::string_enum::string_enum;

string_enum!(
    /// The kind of a category.
    CategoryKind, "category kind" { Expense = "expense", Income = "income", Transfer = "transfer", Other = "other" }
);

entity!(
    /// A stored category. Its own kind is called `category_kind` in JSON, where `kind` names the entity.
    Category, "category" in "brain_category" as CategoryId {
        name: String,
        parent_id: Option<CategoryId>,
        kind ["category_kind"]: CategoryKind,
    }
);

/// The category of this name; case matters.
pub(crate) fn by_name(sql: &mut dyn Sql, name: &str) -> Result<Option<Category>> {
    let tenant = sql.tenant().as_str().to_owned();
    let query =
        format!("SELECT {} FROM brain_category WHERE tenant_id = $1 AND name = $2", Category::columns());
    sql.query_opt(&query, params![tenant, name])?.as_ref().map(Category::from_row).transpose()
}

/// The first [`ITEMS_MAX`](crate::limits::ITEMS_MAX) categories by name. A ledger has few.
pub(crate) fn all(sql: &mut dyn Sql) -> Result<Vec<Category>> {
    let tenant = sql.tenant().as_str().to_owned();
    let query = format!(
        "SELECT {} FROM brain_category WHERE tenant_id = $1 ORDER BY name LIMIT {}",
        Category::columns(),
        crate::limits::ITEMS_MAX
    );
    sql.query(&query, params![tenant])?.iter().map(Category::from_row).collect()
}
