//! Infers the role of each column: suggested by the header, confirmed by the cells, checked against the balances.

use std::collections::BTreeMap;

use crate::csv::Role;
use crate::csv::mapping::{Header, Mapping, Overrides};
use crate::csv::records::{Record, RecordEvent, Records};
use crate::csv::role::ContentType;
use crate::csv::rows::is_booked;
use crate::csv::table::{Table, currency_of_column};
use crate::date::{self, DateOrder, InferredBy};
use crate::diagnostic::{Diagnostics, quote};
use crate::number::{self, DecimalMark};
use crate::{Amount, Currency, ParseError, limits, text};

/// A mapping with columns as indexes.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    columns: BTreeMap<Role, Vec<usize>>,
    pub order: DateOrder,
    pub decimal_mark: DecimalMark,
    pub inverted: bool,
    pub currency: Option<Currency>,
}

impl Layout {
    pub fn column(&self, role: Role) -> Option<usize> {
        self.columns(role).first().copied()
    }

    pub fn columns(&self, role: Role) -> &[usize] {
        self.columns.get(&role).map(Vec::as_slice).unwrap_or_default()
    }

    pub fn has(&self, role: Role) -> bool {
        !self.columns(role).is_empty()
    }

    pub fn to_mapping(&self, table: &Table<'_>) -> Mapping {
        let header = &table.header;
        let references =
            |indexes: &Vec<usize>| indexes.iter().map(|index| header.reference(*index)).collect();
        Mapping {
            delimiter: char::from(table.delimiter),
            header: if header.has_names { header.names.clone() } else { Vec::new() },
            columns: self.columns.iter().map(|(role, indexes)| (*role, references(indexes))).collect(),
            order: self.order,
            decimal: self.decimal_mark,
            inverted: self.inverted,
            currency: self.currency,
        }
    }
}

/// Statistics about the cells of one column in a sample.
#[derive(Clone, Copy, Debug, Default)]
struct ColumnStats {
    filled: usize,
    dates: usize,
    amounts: usize,
    with_decimals: usize,
    negative: usize,
    currencies: usize,
    debit_credit_words: usize,
    letters: usize,
}

impl ColumnStats {
    fn observe(&mut self, cell: &str) {
        if cell.is_empty() {
            return;
        }
        self.filled += 1;
        self.letters += cell.len();
        let is_date = |order| date::parse_date(cell, order).is_some();
        self.dates +=
            usize::from(is_date(DateOrder::Dmy) || is_date(DateOrder::Mdy) || is_date(DateOrder::Ymd));
        let parsed = number::parse_amount(cell, DecimalMark::Point)
            .or_else(|| number::parse_amount(cell, DecimalMark::Comma));
        if let Some(parsed) = parsed {
            self.amounts += 1;
            self.with_decimals += usize::from(cell.contains(['.', ',']));
            self.negative += usize::from(parsed.amount.is_negative());
        }
        self.currencies += usize::from(Currency::from_code_or_symbol(cell).is_some());
        self.debit_credit_words += usize::from(parse_debit_credit(cell).is_some());
    }

    /// Nearly all: a total in the last line or a stray remark must not change the result.
    fn is_mostly(&self, count: usize) -> bool {
        count * 10 >= self.filled * 8
    }

    fn matches(&self, contents: ContentType) -> bool {
        match contents {
            ContentType::Dates => self.filled > 0 && self.is_mostly(self.dates),
            ContentType::Amounts => self.is_mostly(self.amounts),
            ContentType::Currencies => self.is_mostly(self.currencies),
            ContentType::Anything => true,
        }
    }
}

/// Whether a word means money in (`false`) or money out (`true`).
pub(crate) fn parse_debit_credit(word: &str) -> Option<bool> {
    if word.len() > 16 {
        return None;
    }
    match word.to_lowercase().as_str() {
        "d" | "dr" | "s" | "soll" | "debit" | "dbit" | "debet" | "débit" | "débito" | "debito" | "af"
        | "out" | "-" | "withdrawal" | "cargo" | "belastung" | "lastschrift" | "outgoing" | "db" | "dare"
        | "ausgang" | "debe" | "uit" => Some(true),
        "c" | "cr" | "h" | "haben" | "credit" | "crdt" | "crédit" | "crédito" | "credito" | "bij" | "in"
        | "+" | "deposit" | "abono" | "gutschrift" | "incoming" | "k" | "ct" | "avere" | "eingang"
        | "haber" | "kredit" | "ingreso" => Some(false),
        _ => None,
    }
}

/// The sampled rows, kept for checks that need several cells of a row.
struct Sample {
    columns: Vec<ColumnStats>,
    rows: Vec<Vec<String>>,
}

fn take_sample(mut rows: Records<'_>, width: usize) -> Sample {
    let mut sample = Sample { columns: vec![ColumnStats::default(); width], rows: Vec::new() };
    let mut record = Record::default();
    while sample.rows.len() < limits::SAMPLE_ROWS {
        match rows.next(&mut record) {
            RecordEvent::End => break,
            RecordEvent::Malformed(_) => continue,
            RecordEvent::Record if record.is_blank() => continue,
            RecordEvent::Record => {}
        }
        for (index, column) in sample.columns.iter_mut().enumerate() {
            column.observe(record.get(index));
        }
        sample.rows.push((0..width).map(|index| record.get(index).to_owned()).collect());
    }
    sample
}

/// Finds the layout of a table: the remembered mapping if it fits, otherwise inferred. Overrides take precedence.
pub(crate) fn infer_layout(
    table: &Table<'_>,
    saved_mapping: Option<&Mapping>,
    overrides: &Overrides,
    diagnostics: &mut Diagnostics,
) -> Result<Layout, ParseError> {
    let header = &table.header;
    let saved_layout = saved_mapping.and_then(|mapping| from_saved(header, mapping));
    if saved_mapping.is_some() && saved_layout.is_none() {
        diagnostics.warning(
            "the remembered mapping names columns that this table does not have: columns inferred again",
        );
    }
    let sample = take_sample(table.rows.clone(), header.names.len());
    let is_inferred = saved_layout.is_none();
    let mut layout = saved_layout.unwrap_or_else(|| Layout {
        columns: infer_by_header(header, &sample, diagnostics),
        order: DateOrder::Dmy,
        decimal_mark: DecimalMark::Point,
        inverted: false,
        currency: None,
    });
    if is_inferred {
        infer_by_values(&mut layout.columns, header, &sample);
        assign_account_column(&mut layout.columns, table, &sample);
    }
    apply_overrides(&mut layout.columns, header, overrides)?;
    if is_inferred {
        resolve_amount_columns(&mut layout.columns, &sample, overrides);
        let taken: Vec<usize> = layout.columns.values().flatten().copied().collect();
        if layout.currency.is_none() {
            let amounts = [Role::Amount, Role::Debit, Role::Credit, Role::Balance];
            let amount_columns = amounts.iter().flat_map(|role| layout.columns(*role));
            layout.currency = amount_columns.clone().find_map(|index| currency_of_column(header, *index));
        }
        infer_description(&mut layout.columns, &sample, &taken, overrides);
    }
    check_required(&layout, header)?;
    if is_inferred {
        infer_formats(&mut layout, table, overrides, diagnostics);
    }
    layout.order = overrides.order.unwrap_or(layout.order);
    layout.decimal_mark = overrides.decimal.unwrap_or(layout.decimal_mark);
    layout.inverted = overrides.inverted.unwrap_or(layout.inverted);
    layout.currency = overrides.currency.or(layout.currency);
    if is_inferred {
        infer_sign_and_fee(&mut layout, &sample, overrides, diagnostics);
    }
    Ok(layout)
}

/// A remembered mapping with column indexes, if this table has all its columns.
fn from_saved(header: &Header, mapping: &Mapping) -> Option<Layout> {
    let mut places = BTreeMap::new();
    for (role, columns) in &mapping.columns {
        places.insert(*role, header.find_all(columns).ok()?);
    }
    // Numbered columns are only valid for a table of the same shape.
    let same_header = mapping.header == header.names || (mapping.header.is_empty() && !header.has_names);
    let has_only_names = mapping.columns.values().flatten().all(|column| !column.starts_with('#'));
    (same_header || (has_only_names && header.has_names)).then_some(Layout {
        columns: places,
        order: mapping.order,
        decimal_mark: mapping.decimal,
        inverted: mapping.inverted,
        currency: mapping.currency,
    })
}

/// Assigns roles by column names, each confirmed by the cells.
fn infer_by_header(
    header: &Header,
    sample: &Sample,
    diagnostics: &mut Diagnostics,
) -> BTreeMap<Role, Vec<usize>> {
    let mut candidates: Vec<(usize, usize, Role)> = Vec::new();
    for (index, name) in header.names.iter().enumerate().filter(|_| header.has_names) {
        let column = sample.columns.get(index).copied().unwrap_or_default();
        let mut mismatched_role = None;
        let before = candidates.len();
        for &(role, rank) in Role::for_header(name) {
            if sample.rows.is_empty() || column.matches(role.content_type()) {
                candidates.push((rank, index, role));
            } else {
                mismatched_role = Some(role);
            }
        }
        if let Some(role) = mismatched_role.filter(|_| candidates.len() == before && column.filled > 0) {
            let message =
                format!("column {} is named like {} but has other contents", quote(name), role.meaning());
            diagnostics.info(message);
        }
    }
    candidates.sort_by_key(|(rank, index, _)| (*rank, *index));
    let mut places: BTreeMap<Role, Vec<usize>> = BTreeMap::new();
    let mut taken = vec![false; header.names.len()];
    for (_, index, role) in candidates {
        let columns = places.entry(role).or_default();
        let is_taken = taken.get_mut(index);
        if let Some(is_taken) =
            is_taken.filter(|taken| !**taken && (columns.is_empty() || role.is_multi_column()))
        {
            *is_taken = true;
            columns.push(index);
        }
    }
    places.retain(|_, filled| !filled.is_empty());
    if let Some(description) = places.get_mut(&Role::Description) {
        description.sort();
    }
    places
}

/// Finds date and amount by the cells where no name identifies them.
fn infer_by_values(places: &mut BTreeMap<Role, Vec<usize>>, header: &Header, sample: &Sample) {
    let is_taken =
        |places: &BTreeMap<Role, Vec<usize>>, index: usize| places.values().flatten().any(|p| *p == index);
    let columns = || sample.columns.iter().enumerate();
    if !places.contains_key(&Role::Date) {
        let date_column =
            columns().find(|(index, column)| column.matches(ContentType::Dates) && !is_taken(places, *index));
        if let Some((index, _)) = date_column {
            places.insert(Role::Date, vec![index]);
        }
    }
    let no_amount = ![Role::Amount, Role::Debit, Role::Credit].iter().any(|role| places.contains_key(role));
    if !no_amount {
        return;
    }
    let could_be_amount = |index: usize, column: &ColumnStats| {
        column.filled * 2 > sample.rows.len()
            && column.is_mostly(column.amounts)
            && column.dates == 0
            && !is_taken(places, index)
    };
    let candidates: Vec<(usize, &ColumnStats)> =
        columns().filter(|(index, column)| could_be_amount(*index, column)).collect();
    // Amounts have decimals and signs; numbers of cheques and accounts have neither.
    let amount = candidates
        .iter()
        .max_by_key(|(index, column)| (column.negative > 0, column.with_decimals, usize::MAX - index))
        .map(|(index, _)| *index);
    let Some(amount) = amount else { return };
    places.insert(Role::Amount, vec![amount]);
    let last = candidates.iter().rfind(|(index, column)| *index != amount && column.with_decimals > 0);
    if let Some((index, _)) = last.filter(|_| !header.has_names) {
        places.insert(Role::Balance, vec![*index]);
    }
}

/// A column named just `IBAN` may be the own account or the counterparty's. It is the counterparty's if the lines
/// before the header name another account, or if the value changes between rows that have a counterparty name.
fn assign_account_column(places: &mut BTreeMap<Role, Vec<usize>>, table: &Table<'_>, sample: &Sample) {
    if places.contains_key(&Role::CounterpartyAccount) {
        return;
    }
    let Some(index) = places.get(&Role::Account).and_then(|filled| filled.first()).copied() else { return };
    let mut cells: Vec<&str> =
        sample.rows.iter().filter_map(|row| row.get(index)).map(String::as_str).collect();
    cells.sort();
    cells.dedup();
    let own_iban = table.preamble.account.iban.as_deref();
    let is_other_account = own_iban.is_some_and(|own_iban| {
        !cells.iter().any(|cell| text::parse_iban(cell).as_deref() == Some(own_iban))
    });
    let has_counterparty_name =
        [Role::Counterparty, Role::Payer, Role::Payee].iter().any(|role| places.contains_key(role));
    let varies = cells.len() * 4 > sample.rows.len() && cells.len() > 2;
    if is_other_account || (has_counterparty_name && varies) {
        places.remove(&Role::Account);
        places.insert(Role::CounterpartyAccount, vec![index]);
    }
}

/// Applies the user's settings for columns.
fn apply_overrides(
    places: &mut BTreeMap<Role, Vec<usize>>,
    header: &Header,
    overrides: &Overrides,
) -> Result<(), ParseError> {
    for (role, columns) in &overrides.columns {
        let indexes = header.find_all(columns)?;
        for (other_role, assigned) in places.iter_mut() {
            if !overrides.columns.contains_key(other_role) {
                assigned.retain(|index| !indexes.contains(index));
            }
        }
        places.insert(*role, indexes);
    }
    let is_overridden = |role: Role| overrides.columns.get(&role).is_some_and(|columns| !columns.is_empty());
    if is_overridden(Role::Amount) && !is_overridden(Role::Debit) && !is_overridden(Role::Credit) {
        places.remove(&Role::Debit);
        places.remove(&Role::Credit);
    } else if (is_overridden(Role::Debit) || is_overridden(Role::Credit)) && !is_overridden(Role::Amount) {
        places.remove(&Role::Amount);
    }
    places.retain(|_, filled| !filled.is_empty());
    Ok(())
}

/// Either one amount column, or a debit and a credit column; plus a side column if amounts have no signs.
fn resolve_amount_columns(places: &mut BTreeMap<Role, Vec<usize>>, sample: &Sample, overrides: &Overrides) {
    if places.contains_key(&Role::Amount) {
        for role in [Role::Debit, Role::Credit] {
            if !overrides.columns.contains_key(&role) {
                places.remove(&role);
            }
        }
    }
    if overrides.columns.contains_key(&Role::Side) {
        return;
    }
    let stats = |index: usize| sample.columns.get(index).copied().unwrap_or_default();
    let amount = places.get(&Role::Amount).and_then(|filled| filled.first()).map(|index| stats(*index));
    let unsigned = amount.is_some_and(|amount| amount.negative == 0);
    let is_debit_credit = |index: usize| {
        let stats_of_column = stats(index);
        stats_of_column.filled > 0 && stats_of_column.debit_credit_words * 20 >= stats_of_column.filled * 19
    };
    if !unsigned {
        places.remove(&Role::Side);
        return;
    }
    let header_column = places.get(&Role::Side).and_then(|filled| filled.first()).copied();
    if header_column.is_some_and(is_debit_credit) {
        return;
    }
    places.remove(&Role::Side);
    let debit_credit_column = (0..sample.columns.len()).find(|index| is_debit_credit(*index));
    if let Some(index) = debit_credit_column {
        places.values_mut().for_each(|filled| filled.retain(|other| *other != index));
        places.retain(|_, filled| !filled.is_empty());
        places.insert(Role::Side, vec![index]);
    }
}

/// Without a description column: the kind, or else the column with most letters.
fn infer_description(
    places: &mut BTreeMap<Role, Vec<usize>>,
    sample: &Sample,
    taken: &[usize],
    overrides: &Overrides,
) {
    if places.contains_key(&Role::Description) || overrides.columns.contains_key(&Role::Description) {
        return;
    }
    let longest_text = sample
        .columns
        .iter()
        .enumerate()
        .filter(|(index, column)| {
            !taken.contains(index)
                && column.filled > 0
                && !column.is_mostly(column.amounts)
                && !column.is_mostly(column.dates)
        })
        .max_by_key(|(_, column)| column.letters);
    if let Some((index, _)) = longest_text {
        places.insert(Role::Description, vec![index]);
    }
}

/// A statement needs a date and an amount.
fn check_required(layout: &Layout, header: &Header) -> Result<(), ParseError> {
    let missing = |role: &'static str| ParseError::ColumnMissing { role, columns: header.column_list() };
    if !layout.has(Role::Date) {
        return Err(missing("the date"));
    }
    if !layout.has(Role::Amount) && !layout.has(Role::Debit) && !layout.has(Role::Credit) {
        return Err(missing("the amount"));
    }
    Ok(())
}

/// The order of dates and the decimal mark, decided over all rows.
fn infer_formats(
    layout: &mut Layout,
    table: &Table<'_>,
    overrides: &Overrides,
    diagnostics: &mut Diagnostics,
) {
    let mut rows = table.rows.clone();
    let mut record = Record::default();
    let (mut dates, mut amounts) =
        (date::DateOrderInference::default(), number::DecimalMarkInference::default());
    let date_columns = layout.columns(Role::Date);
    let roles = [Role::Amount, Role::Debit, Role::Credit, Role::Balance];
    let amount_columns: Vec<usize> = roles.iter().flat_map(|role| layout.columns(*role)).copied().collect();
    loop {
        match rows.next(&mut record) {
            RecordEvent::End => break,
            RecordEvent::Malformed(_) => continue,
            RecordEvent::Record => {}
        }
        dates.observe(record.first_filled(date_columns).0);
        amount_columns.iter().for_each(|index| amounts.observe(record.get(*index)));
    }
    let (order, inferred_by) = dates.infer();
    layout.order = order;
    let order_text = if order == DateOrder::Mdy { "month first" } else { "day first" };
    match inferred_by {
        _ if overrides.order.is_some() => {}
        InferredBy::Unambiguous | InferredBy::Convention => {
            if dates.day_first.min(dates.month_first) > 0 {
                diagnostics.warning(format!(
                    "{} dates can only be read day first and {} only month first: read {order_text}",
                    dates.day_first, dates.month_first
                ));
            }
        }
        InferredBy::Sequence => diagnostics.warning(format!(
            "no date has a day above 12; read {order_text}, since only then the rows are sorted; set order=dmy or \
             order=mdy to decide"
        )),
        InferredBy::Guess => diagnostics.warning(
            "the dates can be read day first or month first: read day first; set order=dmy or order=mdy to decide",
        ),
    }
    let (mark, is_certain) = amounts.infer();
    layout.decimal_mark = mark;
    if !is_certain && overrides.decimal.is_none() {
        let (example, alternative) = match mark {
            DecimalMark::Comma => ("1.234 as 1234", "point"),
            DecimalMark::Point => ("1,234 as 1234", "comma"),
        };
        diagnostics.warning(format!(
            "no amount tells the decimal mark from the separator of thousands: read {example}; decimal={alternative} changes it"
        ));
    }
}

/// Tries which reading the balances confirm: amounts as written, with inverted sign, or with the fee subtracted.
fn infer_sign_and_fee(
    layout: &mut Layout,
    sample: &Sample,
    overrides: &Overrides,
    diagnostics: &mut Diagnostics,
) {
    let fee = layout.column(Role::Fee);
    let fee_overridden = overrides.columns.contains_key(&Role::Fee);
    if !layout.has(Role::Balance) || !layout.has(Role::Amount) || layout.has(Role::Side) {
        if !fee_overridden {
            layout.columns.remove(&Role::Fee);
        }
        return;
    }
    let (amount, balance) = (layout.column(Role::Amount), layout.column(Role::Balance));
    let parse_cell = |row: &[String], index: Option<usize>| {
        let cell = index.and_then(|index| row.get(index)).map(String::as_str).unwrap_or_default();
        number::parse_amount(cell, layout.decimal_mark).map(|reading| reading.amount)
    };
    // Each currency has its own balance; pending rows do not change it.
    let (currency, status) = (layout.column(Role::Currency), layout.column(Role::Status));
    let cell = |row: &'_ Vec<String>, index: Option<usize>| {
        index.and_then(|index| row.get(index)).cloned().unwrap_or_default()
    };
    let first = sample.rows.first().map(|row| cell(row, currency));
    let comparable: Vec<&Vec<String>> = sample
        .rows
        .iter()
        .filter(|row| Some(cell(row, currency)) == first && is_booked(&cell(row, status)))
        .collect();
    let amounts_and_balances = |inverted: bool, fees: bool| -> Vec<(Amount, Amount)> {
        let to_pair = |row: &Vec<String>| {
            let mut signed_amount = parse_cell(row, amount)?;
            if inverted {
                signed_amount = signed_amount.checked_neg()?;
            }
            if fees {
                signed_amount =
                    signed_amount.checked_sub(parse_cell(row, fee).unwrap_or_default().checked_abs()?)?;
            }
            Some((signed_amount, parse_cell(row, balance)?))
        };
        comparable.iter().copied().filter_map(to_pair).collect()
    };
    let count_matches = |inverted, fees| {
        let (forwards, backwards) = count_consistent(&amounts_and_balances(inverted, fees));
        forwards.max(backwards)
    };
    let transitions = amounts_and_balances(false, false).len().saturating_sub(1);
    let baseline = count_matches(false, false);
    let can_fee = layout.has(Role::Fee);
    let variants = [(true, false), (false, true), (true, true)];
    let best = variants
        .into_iter()
        .filter(|(inverted, fees)| (!inverted || overrides.inverted.is_none()) && (!fees || can_fee))
        .map(|(inverted, fees)| (count_matches(inverted, fees), inverted, fees))
        .max_by_key(|(hits, ..)| *hits);
    let mut fees = fee_overridden;
    if let Some((hits, inverted, with_fees)) =
        best.filter(|(hits, ..)| transitions >= 2 && *hits > baseline && hits * 10 >= transitions * 8)
    {
        if inverted {
            layout.inverted = true;
            diagnostics.info(format!(
                "money out is written without a minus: {hits} of {transitions} balances confirm it"
            ));
        }
        fees |= with_fees;
    }
    if !fees {
        layout.columns.remove(&Role::Fee);
    }
}

/// How many steps from row to row the balances confirm, if rows are in ascending order of time and if they are in
/// descending order.
pub(crate) fn count_consistent(rows: &[(Amount, Amount)]) -> (usize, usize) {
    let mut counts = (0, 0);
    for pair in rows.windows(2) {
        if let [(first, before), (second, after)] = pair {
            counts.0 += usize::from(before.checked_add(*second) == Some(*after));
            counts.1 += usize::from(after.checked_add(*first) == Some(*before));
        }
    }
    counts
}
