//! Pages: `page` and `limit`, and the envelope of a list.

use quad_core::{Address, Error, Result};
use quad_store::Value as SqlValue;
use serde_json::{Map, Value, json};

use crate::{errors, limits};

/// The requested part of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// The number of the page, from 1.
    pub page: u64,
    /// The number of elements, 1 to [`limits::PAGE_MAX`].
    pub limit: u64,
}

impl Page {
    /// The first page.
    pub(crate) const FIRST: Page = Page { page: 1, limit: limits::PAGE_DEFAULT as u64 };

    /// Reads the arguments of a tool, which match its schema.
    pub(crate) fn from_arguments(arguments: &Map<String, Value>) -> Result<Page> {
        let number =
            |name: &str, default: u64| arguments.get(name).and_then(Value::as_u64).unwrap_or(default);
        Page::try_new(number("page", Page::FIRST.page), number("limit", Page::FIRST.limit))
    }

    /// Parses the query of an address.
    pub(crate) fn from_address(address: &Address) -> Result<Page> {
        let number = |name: &str, default: u64| match address.variable(name) {
            None => Ok(default),
            Some(text) => text.parse::<u64>().map_err(|_| {
                errors::invalid(
                    name,
                    "is not a whole number",
                    format!("Send {name} as a whole number from 1"),
                )
            }),
        };
        Page::try_new(number("page", Page::FIRST.page)?, number("limit", Page::FIRST.limit)?)
    }

    fn try_new(page: u64, limit: u64) -> Result<Page, Error> {
        if page == 0 {
            return Err(errors::invalid("page", "is 0", "Send page from 1"));
        }
        if !(1..=limits::PAGE_MAX as u64).contains(&limit) {
            return Err(errors::invalid(
                "limit",
                format!("is {limit}"),
                format!("Send limit from 1 to {}; page continues the list", limits::PAGE_MAX),
            ));
        }
        Ok(Page { page, limit })
    }

    /// The number of elements before this page.
    pub(crate) fn offset(self) -> i64 {
        i64::try_from((self.page - 1).saturating_mul(self.limit)).unwrap_or(i64::MAX)
    }

    /// The maximum number of elements on the page.
    pub(crate) fn size(self) -> i64 {
        self.limit as i64
    }

    /// The end of a statement that selects this page. Its values are added to `values`.
    pub(crate) fn window(self, values: &mut Vec<SqlValue>) -> String {
        values.extend([SqlValue::from(self.size()), SqlValue::from(self.offset())]);
        format!(" LIMIT ${} OFFSET ${}", values.len() - 1, values.len())
    }

    /// The envelope of a page, for a list of `total` elements.
    pub(crate) fn to_json(self, items: Vec<Value>, total: i64) -> Value {
        let pages = (total.max(0) as u64).div_ceil(self.limit);
        json!({
            "items": items,
            "pagination": {
                "total": total,
                "page": self.page,
                "limit": self.limit,
                "totalPages": pages,
                "hasNext": self.page < pages,
                "hasPrev": self.page > 1 && total > 0,
            },
        })
    }

    /// Cuts the page out of a list that is in memory.
    pub(crate) fn slice<T>(self, all: Vec<T>) -> Vec<T> {
        let offset = usize::try_from(self.offset()).unwrap_or(usize::MAX);
        all.into_iter().skip(offset).take(self.limit as usize).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn validates_page_and_limit() {
        assert_eq!(Page::from_arguments(&Map::new()).unwrap(), Page::FIRST);
        let page = Page::from_arguments(&arguments(json!({"page": 3, "limit": 100}))).unwrap();
        assert_eq!((page.page, page.limit, page.offset()), (3, 100, 200));
        for bad in [json!({"page": 0}), json!({"limit": 0}), json!({"limit": 101})] {
            assert_eq!(Page::from_arguments(&arguments(bad)).unwrap_err().code(), "VALIDATION_ERROR");
        }
        let last = Page::from_arguments(&arguments(json!({"page": u64::MAX}))).unwrap();
        assert_eq!(last.offset(), i64::MAX);
    }

    #[test]
    fn json_reports_total_pages_and_neighbors() {
        let check = |page, limit, total, pages: u64, next: bool, prev: bool| {
            let pagination = &Page { page, limit }.to_json(Vec::new(), total)["pagination"];
            assert_eq!(pagination["totalPages"], pages);
            assert_eq!(pagination["hasNext"], next, "{pagination}");
            assert_eq!(pagination["hasPrev"], prev, "{pagination}");
        };
        check(1, 20, 0, 0, false, false);
        check(1, 20, 20, 1, false, false);
        check(1, 20, 21, 2, true, false);
        check(2, 20, 21, 2, false, true);
        check(9, 20, 21, 2, false, true);
    }
}
