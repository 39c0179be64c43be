//! Which column means what: suggested by the names, confirmed by the cells, and checked against the balances.

use std::collections::BTreeMap;

use crate::csv::Role;
use crate::csv::mapping::{Header, Mapping, Overrides};
use crate::csv::records::{Next, Record, Records};
use crate::csv::role::Contents;
use crate::csv::rows::is_booked;
use crate::csv::table::{Table, currency_of_column};
use crate::date::{self, DateOrder, Ground};
use crate::finding::{Findings, quoted};
use crate::number::{self, DecimalMark};
use crate::{Amount, Currency, Refusal, limits, text};

/// No column: a record answers such a place with an empty text.
pub(crate) const NONE: usize = usize::MAX;

/// A mapping whose columns are places.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    places: BTreeMap<Role, Vec<usize>>,
    pub order: DateOrder,
    pub mark: DecimalMark,
    pub inverted: bool,
    pub currency: Option<Currency>,
}

impl Layout {
    pub fn one(&self, role: Role) -> usize {
        self.all(role).first().copied().unwrap_or(NONE)
    }

    pub fn all(&self, role: Role) -> &[usize] {
        self.places.get(&role).map(Vec::as_slice).unwrap_or_default()
    }

    pub fn has(&self, role: Role) -> bool {
        !self.all(role).is_empty()
    }

    pub fn mapping(&self, table: &Table<'_>) -> Mapping {
        let header = &table.header;
        let named = |places: &Vec<usize>| places.iter().map(|place| header.reference(*place)).collect();
        Mapping {
            delimiter: char::from(table.delimiter),
            header: if header.named { header.names.clone() } else { Vec::new() },
            columns: self.places.iter().map(|(role, places)| (*role, named(places))).collect(),
            order: self.order,
            decimal: self.mark,
            inverted: self.inverted,
            currency: self.currency,
        }
    }
}

/// What the cells of one column are, in a sample.
#[derive(Clone, Copy, Debug, Default)]
struct Column {
    filled: usize,
    dates: usize,
    amounts: usize,
    with_decimals: usize,
    negative: usize,
    currencies: usize,
    sides: usize,
    letters: usize,
}

impl Column {
    fn see(&mut self, cell: &str) {
        if cell.is_empty() {
            return;
        }
        self.filled += 1;
        self.letters += cell.len();
        let is_date = |order| date::read(cell, order).is_some();
        self.dates +=
            usize::from(is_date(DateOrder::Dmy) || is_date(DateOrder::Mdy) || is_date(DateOrder::Ymd));
        let reading =
            number::read(cell, DecimalMark::Point).or_else(|| number::read(cell, DecimalMark::Comma));
        if let Some(reading) = reading {
            self.amounts += 1;
            self.with_decimals += usize::from(cell.contains(['.', ',']));
            self.negative += usize::from(reading.amount.is_negative());
        }
        self.currencies += usize::from(Currency::recognise(cell).is_some());
        self.sides += usize::from(side(cell).is_some());
    }

    /// Nearly all: a total in the last line or a stray remark must not hide what a column is.
    fn mostly(&self, count: usize) -> bool {
        count * 10 >= self.filled * 8
    }

    fn holds(&self, contents: Contents) -> bool {
        match contents {
            Contents::Dates => self.filled > 0 && self.mostly(self.dates),
            Contents::Amounts => self.mostly(self.amounts),
            Contents::Currencies => self.mostly(self.currencies),
            Contents::Anything => true,
        }
    }
}

/// Whether a word says money in (`false`) or money out (`true`).
pub(crate) fn side(word: &str) -> Option<bool> {
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

/// Rows that were looked at, kept for the checks that need several cells of a row.
struct Sample {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

fn sample(mut rows: Records<'_>, width: usize) -> Sample {
    let mut sample = Sample { columns: vec![Column::default(); width], rows: Vec::new() };
    let mut record = Record::default();
    while sample.rows.len() < limits::SAMPLE_ROWS {
        match rows.next(&mut record) {
            Next::End => break,
            Next::Malformed(_) => continue,
            Next::Record if record.is_blank() => continue,
            Next::Record => {}
        }
        for (place, column) in sample.columns.iter_mut().enumerate() {
            column.see(record.get(place));
        }
        sample.rows.push((0..width).map(|place| record.get(place).to_owned()).collect());
    }
    sample
}

/// Understands a table: by what is remembered of it where that fits, else by guessing; overrides win over both.
pub(crate) fn layout(
    table: &Table<'_>,
    remembered: Option<&Mapping>,
    overrides: &Overrides,
    findings: &mut Findings,
) -> Result<Layout, Refusal> {
    let header = &table.header;
    let known = remembered.and_then(|mapping| recall(header, mapping));
    if remembered.is_some() && known.is_none() {
        findings.warning("the remembered mapping names columns that this table does not have: guessed anew");
    }
    let sample = sample(table.rows.clone(), header.names.len());
    let guessed = known.is_none();
    let mut layout = known.unwrap_or_else(|| Layout {
        places: by_name(header, &sample, findings),
        order: DateOrder::Dmy,
        mark: DecimalMark::Point,
        inverted: false,
        currency: None,
    });
    if guessed {
        by_contents(&mut layout.places, header, &sample);
        whose_account(&mut layout.places, table, &sample);
    }
    apply(&mut layout.places, header, overrides)?;
    if guessed {
        settle_amounts(&mut layout.places, &sample, overrides);
        let taken: Vec<usize> = layout.places.values().flatten().copied().collect();
        if layout.currency.is_none() {
            let amounts = [Role::Amount, Role::Debit, Role::Credit, Role::Balance];
            let places = amounts.iter().flat_map(|role| layout.all(*role));
            layout.currency = places.clone().find_map(|place| currency_of_column(header, *place));
        }
        describe(&mut layout.places, &sample, &taken, overrides);
    }
    require(&layout, header)?;
    if guessed {
        decide_spelling(&mut layout, table, overrides, findings);
    }
    layout.order = overrides.order.unwrap_or(layout.order);
    layout.mark = overrides.decimal.unwrap_or(layout.mark);
    layout.inverted = overrides.inverted.unwrap_or(layout.inverted);
    layout.currency = overrides.currency.or(layout.currency);
    if guessed {
        check_balances(&mut layout, &sample, overrides, findings);
    }
    Ok(layout)
}

/// A remembered mapping in places, if this table has all its columns.
fn recall(header: &Header, mapping: &Mapping) -> Option<Layout> {
    let mut places = BTreeMap::new();
    for (role, columns) in &mapping.columns {
        places.insert(*role, header.find_all(columns).ok()?);
    }
    // Places alone hold only for a table of the same shape.
    let same = mapping.header == header.names || (mapping.header.is_empty() && !header.named);
    let by_name = mapping.columns.values().flatten().all(|column| !column.starts_with('#'));
    (same || (by_name && header.named)).then_some(Layout {
        places,
        order: mapping.order,
        mark: mapping.decimal,
        inverted: mapping.inverted,
        currency: mapping.currency,
    })
}

/// Roles by the names of the columns, each confirmed by its cells.
fn by_name(header: &Header, sample: &Sample, findings: &mut Findings) -> BTreeMap<Role, Vec<usize>> {
    let mut candidates: Vec<(usize, usize, Role)> = Vec::new();
    for (place, name) in header.names.iter().enumerate().filter(|_| header.named) {
        let column = sample.columns.get(place).copied().unwrap_or_default();
        let mut doubted = None;
        let before = candidates.len();
        for &(role, rank) in Role::suggested_by(name) {
            if sample.rows.is_empty() || column.holds(role.contents()) {
                candidates.push((rank, place, role));
            } else {
                doubted = Some(role);
            }
        }
        if let Some(role) = doubted.filter(|_| candidates.len() == before && column.filled > 0) {
            let message =
                format!("column {} is named like {} but does not hold it", quoted(name), role.meaning());
            findings.notice(message);
        }
    }
    candidates.sort_by_key(|(rank, place, _)| (*rank, *place));
    let mut places: BTreeMap<Role, Vec<usize>> = BTreeMap::new();
    let mut taken = vec![false; header.names.len()];
    for (_, place, role) in candidates {
        let filled = places.entry(role).or_default();
        let free = taken.get_mut(place);
        if let Some(free) = free.filter(|taken| !**taken && (filled.is_empty() || role.takes_several())) {
            *free = true;
            filled.push(place);
        }
    }
    places.retain(|_, filled| !filled.is_empty());
    if let Some(description) = places.get_mut(&Role::Description) {
        description.sort();
    }
    places
}

/// Date and amount by the cells, where no name says them.
fn by_contents(places: &mut BTreeMap<Role, Vec<usize>>, header: &Header, sample: &Sample) {
    let taken =
        |places: &BTreeMap<Role, Vec<usize>>, place: usize| places.values().flatten().any(|p| *p == place);
    let columns = || sample.columns.iter().enumerate();
    if !places.contains_key(&Role::Date) {
        let found = columns().find(|(place, column)| column.holds(Contents::Dates) && !taken(places, *place));
        if let Some((place, _)) = found {
            places.insert(Role::Date, vec![place]);
        }
    }
    let no_amount = ![Role::Amount, Role::Debit, Role::Credit].iter().any(|role| places.contains_key(role));
    if !no_amount {
        return;
    }
    let fits = |place: usize, column: &Column| {
        column.filled * 2 > sample.rows.len()
            && column.mostly(column.amounts)
            && column.dates == 0
            && !taken(places, place)
    };
    let free: Vec<(usize, &Column)> = columns().filter(|(place, column)| fits(*place, column)).collect();
    // Amounts have decimals and signs; numbers of cheques and accounts have neither.
    let amount = free
        .iter()
        .max_by_key(|(place, column)| (column.negative > 0, column.with_decimals, usize::MAX - place))
        .map(|(place, _)| *place);
    let Some(amount) = amount else { return };
    places.insert(Role::Amount, vec![amount]);
    let last = free.iter().rfind(|(place, column)| *place != amount && column.with_decimals > 0);
    if let Some((place, _)) = last.filter(|_| !header.named) {
        places.insert(Role::Balance, vec![*place]);
    }
}

/// A column that is just called `IBAN` may be the own account or the other side's. It is the other side's if the lines
/// before the header name another account, or if it changes from row to row beside a name.
fn whose_account(places: &mut BTreeMap<Role, Vec<usize>>, table: &Table<'_>, sample: &Sample) {
    if places.contains_key(&Role::CounterpartyAccount) {
        return;
    }
    let Some(place) = places.get(&Role::Account).and_then(|filled| filled.first()).copied() else { return };
    let mut cells: Vec<&str> =
        sample.rows.iter().filter_map(|row| row.get(place)).map(String::as_str).collect();
    cells.sort();
    cells.dedup();
    let own = table.preamble.account.iban.as_deref();
    let not_own = own.is_some_and(|own| !cells.iter().any(|cell| text::iban(cell).as_deref() == Some(own)));
    let named = [Role::Counterparty, Role::Payer, Role::Payee].iter().any(|role| places.contains_key(role));
    let changes = cells.len() * 4 > sample.rows.len() && cells.len() > 2;
    if not_own || (named && changes) {
        places.remove(&Role::Account);
        places.insert(Role::CounterpartyAccount, vec![place]);
    }
}

/// What a person says about columns.
fn apply(
    places: &mut BTreeMap<Role, Vec<usize>>,
    header: &Header,
    overrides: &Overrides,
) -> Result<(), Refusal> {
    for (role, columns) in &overrides.columns {
        let found = header.find_all(columns)?;
        for (other, filled) in places.iter_mut() {
            if !overrides.columns.contains_key(other) {
                filled.retain(|place| !found.contains(place));
            }
        }
        places.insert(*role, found);
    }
    let said = |role: Role| overrides.columns.get(&role).is_some_and(|columns| !columns.is_empty());
    if said(Role::Amount) && !said(Role::Debit) && !said(Role::Credit) {
        places.remove(&Role::Debit);
        places.remove(&Role::Credit);
    } else if (said(Role::Debit) || said(Role::Credit)) && !said(Role::Amount) {
        places.remove(&Role::Amount);
    }
    places.retain(|_, filled| !filled.is_empty());
    Ok(())
}

/// One column of amounts, or one of money in and one of money out; and a column of sides where amounts have no signs.
fn settle_amounts(places: &mut BTreeMap<Role, Vec<usize>>, sample: &Sample, overrides: &Overrides) {
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
    let column = |place: usize| sample.columns.get(place).copied().unwrap_or_default();
    let amount = places.get(&Role::Amount).and_then(|filled| filled.first()).map(|place| column(*place));
    let unsigned = amount.is_some_and(|amount| amount.negative == 0);
    let is_side = |place: usize| {
        let cells = column(place);
        cells.filled > 0 && cells.sides * 20 >= cells.filled * 19
    };
    if !unsigned {
        places.remove(&Role::Side);
        return;
    }
    let named = places.get(&Role::Side).and_then(|filled| filled.first()).copied();
    if named.is_some_and(is_side) {
        return;
    }
    places.remove(&Role::Side);
    let found = (0..sample.columns.len()).find(|place| is_side(*place));
    if let Some(place) = found {
        places.values_mut().for_each(|filled| filled.retain(|other| *other != place));
        places.retain(|_, filled| !filled.is_empty());
        places.insert(Role::Side, vec![place]);
    }
}

/// Some text is better than none: the kind, or else the column with most letters.
fn describe(
    places: &mut BTreeMap<Role, Vec<usize>>,
    sample: &Sample,
    taken: &[usize],
    overrides: &Overrides,
) {
    if places.contains_key(&Role::Description) || overrides.columns.contains_key(&Role::Description) {
        return;
    }
    let wordy = sample
        .columns
        .iter()
        .enumerate()
        .filter(|(place, column)| {
            !taken.contains(place)
                && column.filled > 0
                && !column.mostly(column.amounts)
                && !column.mostly(column.dates)
        })
        .max_by_key(|(_, column)| column.letters);
    if let Some((place, _)) = wordy {
        places.insert(Role::Description, vec![place]);
    }
}

/// A statement needs a date and an amount.
fn require(layout: &Layout, header: &Header) -> Result<(), Refusal> {
    let missing = |role: &'static str| Refusal::ColumnMissing { role, columns: header.listed() };
    if !layout.has(Role::Date) {
        return Err(missing("the date"));
    }
    if !layout.has(Role::Amount) && !layout.has(Role::Debit) && !layout.has(Role::Credit) {
        return Err(missing("the amount"));
    }
    Ok(())
}

/// The order of dates and the decimal mark, decided over all rows.
fn decide_spelling(layout: &mut Layout, table: &Table<'_>, overrides: &Overrides, findings: &mut Findings) {
    let mut rows = table.rows.clone();
    let mut record = Record::default();
    let (mut dates, mut amounts) = (date::Evidence::default(), number::Evidence::default());
    let days = layout.all(Role::Date);
    let roles = [Role::Amount, Role::Debit, Role::Credit, Role::Balance];
    let sums: Vec<usize> = roles.iter().flat_map(|role| layout.all(*role)).copied().collect();
    loop {
        match rows.next(&mut record) {
            Next::End => break,
            Next::Malformed(_) => continue,
            Next::Record => {}
        }
        dates.see(record.first(days).0);
        sums.iter().for_each(|place| amounts.see(record.get(*place)));
    }
    let (order, ground) = dates.decide();
    layout.order = order;
    let shown = if order == DateOrder::Mdy { "month first" } else { "day first" };
    match ground {
        _ if overrides.order.is_some() => {}
        Ground::Certain | Ground::Convention => {
            if dates.day_first.min(dates.month_first) > 0 {
                findings.warning(format!(
                    "{} dates can only be read day first and {} only month first: read {shown}",
                    dates.day_first, dates.month_first
                ));
            }
        }
        Ground::Sequence => findings.warning(format!(
            "no date has a day above 12; read {shown}, since only then the rows run in one direction; order=dmy or order=mdy \
             says it for certain"
        )),
        Ground::Guess => findings.warning(
            "the dates can be read day first or month first: read day first; order=dmy or order=mdy says it for certain",
        ),
    }
    let (mark, certain) = amounts.decide();
    layout.mark = mark;
    if !certain && overrides.decimal.is_none() {
        let (shown, other) = match mark {
            DecimalMark::Comma => ("1.234 as 1234", "point"),
            DecimalMark::Point => ("1,234 as 1234", "comma"),
        };
        findings.warning(format!(
            "no amount tells the decimal mark from the separator of thousands: read {shown}; decimal={other} says otherwise"
        ));
    }
}

/// Tries what the balances confirm: amounts as they stand, with the other sign, and with the fee taken off.
fn check_balances(layout: &mut Layout, sample: &Sample, overrides: &Overrides, findings: &mut Findings) {
    let fee = layout.one(Role::Fee);
    let fee_said = overrides.columns.contains_key(&Role::Fee);
    if !layout.has(Role::Balance) || !layout.has(Role::Amount) || layout.has(Role::Side) {
        if !fee_said {
            layout.places.remove(&Role::Fee);
        }
        return;
    }
    let (amount, balance) = (layout.one(Role::Amount), layout.one(Role::Balance));
    let read = |row: &[String], place: usize| {
        let cell = row.get(place).map(String::as_str).unwrap_or_default();
        number::read(cell, layout.mark).map(|reading| reading.amount)
    };
    // Each currency has its own balance, and what is not booked has none.
    let (currency, status) = (layout.one(Role::Currency), layout.one(Role::Status));
    let cell = |row: &'_ Vec<String>, place: usize| row.get(place).cloned().unwrap_or_default();
    let first = sample.rows.first().map(|row| cell(row, currency));
    let comparable: Vec<&Vec<String>> = sample
        .rows
        .iter()
        .filter(|row| Some(cell(row, currency)) == first && is_booked(&cell(row, status)))
        .collect();
    let chain = |inverted: bool, fees: bool| -> Vec<(Amount, Amount)> {
        let step = |row: &Vec<String>| {
            let mut moved = read(row, amount)?;
            if inverted {
                moved = moved.checked_neg()?;
            }
            if fees {
                moved = moved.checked_sub(read(row, fee).unwrap_or_default().checked_abs()?)?;
            }
            Some((moved, read(row, balance)?))
        };
        comparable.iter().copied().filter_map(step).collect()
    };
    let hits = |inverted, fees| {
        let (forwards, backwards) = confirmed(&chain(inverted, fees));
        forwards.max(backwards)
    };
    let steps = chain(false, false).len().saturating_sub(1);
    let plain = hits(false, false);
    let can_fee = layout.has(Role::Fee);
    let tries = [(true, false), (false, true), (true, true)];
    let best = tries
        .into_iter()
        .filter(|(inverted, fees)| (!inverted || overrides.inverted.is_none()) && (!fees || can_fee))
        .map(|(inverted, fees)| (hits(inverted, fees), inverted, fees))
        .max_by_key(|(hits, ..)| *hits);
    let mut fees = fee_said;
    if let Some((hits, inverted, with_fees)) =
        best.filter(|(hits, ..)| steps >= 2 && *hits > plain && hits * 10 >= steps * 8)
    {
        if inverted {
            layout.inverted = true;
            findings.notice(format!(
                "money out is written without a minus: {hits} of {steps} balances confirm it"
            ));
        }
        fees |= with_fees;
    }
    if !fees {
        layout.places.remove(&Role::Fee);
    }
}

/// How many steps from one row to the next the balances confirm, if the rows run forwards and if they run backwards in
/// time.
pub(crate) fn confirmed(rows: &[(Amount, Amount)]) -> (usize, usize) {
    let mut counts = (0, 0);
    for pair in rows.windows(2) {
        if let [(first, before), (second, after)] = pair {
            counts.0 += usize::from(before.checked_add(*second) == Some(*after));
            counts.1 += usize::from(after.checked_add(*first) == Some(*before));
        }
    }
    counts
}
