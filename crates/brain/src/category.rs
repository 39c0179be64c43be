//! Categories: what money was spent on or earned by.

use quad_core::Result;
use quad_store::{Sql, params};

use crate::entity::{Entity, entity};
use crate::ids::CategoryId;
use crate::string_enum::string_enum;

string_enum!(
    /// What sort of category.
    CategoryKind, "category kind" { Expense = "expense", Income = "income", Transfer = "transfer", Other = "other" }
);

entity!(
    /// A category as stored. Its own `kind` is spelt `category_kind` in files, where `kind` names the noun.
    Category, "category" in "brain_category" as CategoryId {
        name: String,
        parent_id: Option<CategoryId>,
        kind ["category_kind"]: CategoryKind,
    }
);

/// The category of that name, in any case.
pub(crate) fn by_name(sql: &mut dyn Sql, name: &str) -> Result<Option<Category>> {
    let tenant = sql.tenant().as_str().to_owned();
    let query =
        format!("SELECT {} FROM brain_category WHERE tenant_id = $1 AND name = $2", Category::columns());
    sql.query_opt(&query, params![tenant, name])?.as_ref().map(Category::from_row).transpose()
}

/// The categories, by name: there are few.
pub(crate) fn all(sql: &mut dyn Sql) -> Result<Vec<Category>> {
    let tenant = sql.tenant().as_str().to_owned();
    let query = format!(
        "SELECT {} FROM brain_category WHERE tenant_id = $1 ORDER BY name LIMIT {}",
        Category::columns(),
        crate::limits::ITEMS_MAX
    );
    sql.query(&query, params![tenant])?.iter().map(Category::from_row).collect()
}
