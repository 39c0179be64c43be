//! The part of the tree that a list or a search by name is limited to.

use quad_store::Value as SqlValue;

/// The ids of the parents. `None` is no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parents {
    pub organization: Option<String>,
    pub project: Option<String>,
    pub environment: Option<String>,
}

impl Parents {
    /// No limit: the whole tenant.
    pub(crate) const ANY: Parents = Parents { organization: None, project: None, environment: None };

    /// The condition on the rows of a table of the catalogue, to append to others. Its values are added to `values`.
    pub(crate) fn condition(&self, alias: &str, values: &mut Vec<SqlValue>) -> String {
        let mut condition = String::new();
        let columns = [
            ("organization_id", &self.organization),
            ("project_id", &self.project),
            ("environment_id", &self.environment),
        ];
        for (column, id) in columns {
            if let Some(id) = id {
                values.push(SqlValue::from(id.as_str()));
                condition.push_str(&format!(" AND {alias}.{column} = ${}", values.len()));
            }
        }
        condition
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn condition_has_one_part_for_each_parent() {
        let mut values = vec![SqlValue::from("local")];
        assert_eq!(Parents::ANY.condition("t", &mut values), "");
        let parents = Parents {
            organization: Some("org_1".to_owned()),
            environment: Some("env_1".to_owned()),
            ..Parents::ANY
        };
        assert_eq!(
            parents.condition("t", &mut values),
            " AND t.organization_id = $2 AND t.environment_id = $3"
        );
        assert_eq!(values.len(), 3);
    }
}
