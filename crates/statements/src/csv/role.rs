//! Roles: the meaning of a column, and the names that banks use for it.
//!
//! Names are compared without case, accents, punctuation and currency codes. The names of a role are ordered: if two
//! columns match, the one with the earlier name is used.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::Currency;

/// The content that a column's cells must have to confirm its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentType {
    Dates,
    Amounts,
    Currencies,
    Anything,
}

/// Declares the roles: variant, name in overrides, meaning for a person, content of the cells, and the names that banks
/// use for the column, best first, separated by spaces.
macro_rules! roles {
    ($($role:ident, $name:literal, $meaning:literal, $content:ident, $header_names:literal;)+) => {
        /// The role of a column.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Role {
            $(#[doc = $meaning] $role,)+
        }

        impl Role {
            /// All roles, in display order.
            pub const ALL: [Role; [$($name),+].len()] = [$(Role::$role),+];

            /// The name in overrides.
            pub fn name(self) -> &'static str {
                match self { $(Role::$role => $name,)+ }
            }

            /// The meaning of the column, for a person.
            pub fn meaning(self) -> &'static str {
                match self { $(Role::$role => $meaning,)+ }
            }

            pub(crate) fn content_type(self) -> ContentType {
                match self { $(Role::$role => ContentType::$content,)+ }
            }

            fn header_names(self) -> &'static str {
                match self { $(Role::$role => $header_names,)+ }
            }
        }
    };
}

roles! {
    Date, "date", "the day of booking", Dates,
        "buchungstag buchungsdatum bookingdate datebooked dateofbooking buchung postdate posteddate \
         postingdate dateposted dateop dateoperation datedoperation datecomptable datedecomptabilisation \
         fechaoperacion fechadeoperacion fechacontable fechamovimiento boekdatum boekingsdatum datacontabile \
         dataoperazione datamovimento dataksiegowania dataoperacji datumzauctovani bokforingsdag \
         bokforingsdatum bokfortdato bogfort completeddate datecompleted date datum fecha data dato dag \
         paivamaara kirjauspaiva transactiondate transaktionsdatum transactiedatum datetransaction \
         datedelatransaction trandate transdate datadatransacao umsatzdatum belegdatum kaufdatum \
         effectivedate datetime timestamp starteddate createdon created createdutc zeitpunkt buchungsdatumeur \
         settlementdate";
    ValueDate, "value_date", "the day from which it bears interest", Dates,
        "valutadatum wertstellung wertstellungsdatum wertstellungstag valuta valuedate datevaleur \
         datedevaleur fechavalor fechadevalor rentedatum datavaluta datawaluty valutadato interestdate \
         valutering datavalor wert";
    Time, "time", "the time of day", Anything,
        "time uhrzeit zeit heure hora tijd ora tid transactiontime";
    Amount, "amount", "the amount", Amounts,
        "betrag amount umsatz montant importe bedrag importo kwota belopp belob belop castka valor \
         betragineur netto net nettobetrag transactionamount amountaccountcurrency billingamount \
         buchungsbetrag transactionvalue value monto summa sum summe total montante quantia cantidad \
         montantoperation transactiebedrag amountnet ammount amt";
    Debit, "debit", "money out", Amounts,
        "soll debit debitamount belastung ausgang ausgaben abgang lastschrift withdrawal withdrawals paidout \
         moneyout out debits cargo cargos debe gasto uitgaven af addebiti addebito dare uscite obciazenia \
         debito withdrawalamount depenses debitamt spent sortie dr";
    Credit, "credit", "money in", Amounts,
        "haben credit creditamount gutschrift eingang einnahmen zugang deposit deposits paidin moneyin in \
         credits abono abonos haber ingreso inkomsten bij accrediti accredito avere entrate uznania credito \
         depositamount recettes creditamt received entree cr";
    Side, "side", "whether it is money in or out", Anything,
        "sollhaben sollhabenkennzeichen sollhabenkz sh debitcredit creditdebit creditdebitindicator afbij \
         debetcredit drcr crdr dc cd direction sens richtung umsatzkennzeichen plusminus sign debitorcredit \
         creditordebit debitcreditcode cdtdbtind";
    Fee, "fee", "a fee taken with the amount", Amounts,
        "fee fees gebuhr gebuhren frais comision commissione kosten provision entgelt";
    Balance, "balance", "the balance after it", Amounts,
        "saldo balance kontostand saldonachbuchung runningbalance solde saldonabuchung balanceafter \
         saldotrasoperacion saldonamutatie saldopooperacji accountbalance runningbal bal closingbalance \
         saldodisponible availablebalance buchungssaldo saldoeur neuersaldo endsaldo";
    Currency, "currency", "the currency", Currencies,
        "wahrung currency devise moneda divisa valuta munt muntsoort waluta mena moeda ccy currencycode \
         wahrungscode accountcurrency kontowahrung whg monnaie buchungswahrung";
    OriginalAmount, "original_amount", "the amount before it was converted", Amounts,
        "originalbetrag originalamount ursprungsbetrag fremdwahrungsbetrag foreignamount montantdorigine \
         amountforeigncurrency localamount originalbedrag amountoriginal betragfremdwahrung \
         transactionamountforeign importeoriginal sourceamount";
    OriginalCurrency, "original_currency", "the currency before it was converted", Currencies,
        "originalwahrung originalcurrency ursprungswahrung fremdwahrung foreigncurrency devisedorigine \
         typeforeigncurrency localcurrency monedaoriginal sourcecurrency";
    Account, "account", "the own account's number", Anything,
        "iban auftragskonto kontonummer kontonr konto ibanauftragskonto accountnumber accountno compte \
         numerodecompte cuenta numerodecuenta rekening rekeningnummer conto account ibanbban ownaccount \
         eigeneskonto fromaccount numerconto rachunek bankaccount accountid cardnumber kartennummer cardno \
         card card4digits";
    AccountName, "account_name", "the own account's name", Anything,
        "accountname kontoname product bezeichnungauftragskonto nomducompte produkt";
    Counterparty, "counterparty", "the other side's name", Anything,
        "beguenstigterzahlungspflichtiger begunstigterzahlungspflichtiger beguenstigterauftraggeber \
         begunstigterauftraggeber auftraggeberempfanger auftraggeberbegunstigter empfangerauftraggeber \
         namezahlungsbeteiligter zahlungsbeteiligter counterparty counterpartyname partnername payeename \
         gegenpartei gegenpart tegenpartij naamtegenpartij naamomschrijving tegenpartijnaam nomcontrepartie \
         contrepartie tiers beneficiario ordenante beneficiarioordenante controparte kontrahent merchant \
         merchantname handler handlername nameofcounterparty partner nombre fromto sendername name naam nom";
    Payer, "payer", "who pays", Anything,
        "zahlungspflichtiger zahlungspflichtigerr zahlungspflichtige auftraggeber payer debtor debtorname \
         ordonnateur donneurdordre sender absender payername from";
    Payee, "payee", "who is paid", Anything,
        "zahlungsempfanger zahlungsempfangerin empfanger payee creditor creditorname beneficiaire beneficiary \
         beneficiaryname begunstigter recipient receiver to begunstigde ontvanger destinataire destinatario";
    CounterpartyAccount, "counterparty_account", "the other side's account", Anything,
        "kontonummeriban ibanzahlungsbeteiligter counterpartyiban partneriban counterpartyaccount \
         counterpartyaccountnumber tegenrekening tegenrekeningibanbban gegenkonto ibangegenkonto \
         ibancontrepartie comptecontrepartie compteducontrepartie cuentabeneficiario payeeiban \
         beneficiaryaccount toaccount kontonummerbegunstigter numerrachunkukontrahenta contracuenta \
         accounttegenpartij gegeniban gegenkontoiban partneraccount iban2 ibandestempfangers partnerkonto";
    CounterpartyBank, "counterparty_bank", "the other side's bank", Anything,
        "bic bicswiftcode bicswift bankleitzahl blz biczahlungsbeteiligter counterpartybic swift bicbank \
         bictegenpartij bicdelabanque partnerbic gegenkontobic";
    Description, "description", "what it is for", Anything,
        "verwendungszweck description libelle concepto omschrijving descrizione descripcion details memo \
         zahlungsgrund buchungsdetails mededelingen mededeling communication communications \
         remittanceinformation paymentreference narrative narration particulars tytul tytulem opis \
         opisoperacji meddelande tekst text beskrivning rubrik extendeddetails detail causale \
         causaledescrizione descricao popis note notes bemerkung notiz transactiondescription \
         originaldescription motif libelleoperation subject zweck betreff purpose beschreibung \
         statementdescription transactiondetails descriptif observaciones title payeememo \
         verwendungszweckzeile1 verwendungszweckzeile2 vwz1 vwz2 vwz3 reason";
    Kind, "kind", "what kind of movement it is", Anything,
        "buchungstext umsatzart umsatztyp transactiontype type typ buchungsart vorgang \
         vorgangverwendungszweck transaktionstyp mutatiesoort transactiesoort tipo tipodeoperacion \
         typeoperation typedoperation art transactioncode code rodzajoperacji typoperacji paymenttype \
         zahlungsart operation tipomovimento";
    Category, "category", "the category", Anything,
        "kategorie category categorie categoria kategoria subcategory budgetkategorie kategori";
    Status, "status", "whether it is booked or pending", Anything,
        "status state zustand statut estado buchungsstatus transactionstatus stato info";
    Id, "id", "the bank's own id", Anything,
        "transactionid transaktionsid transaktionscode transactionreferencenumber buchungsreferenz \
         referencenumber fitid idtransaction iddetransaction transaktionsnummer transactionnumber \
         entryreference umsatzid uniqueid identificador transactionuniqueid bankreference volgnummer id uuid \
         numerodeoperacion bankreferenz";
    EndToEnd, "end_to_end", "the payer's id that travels along", Anything,
        "endtoendid kundenreferenzendtoend kundenreferenz endtoendreferenz endtoendreference \
         referenceendtoend customerreference e2eid endtoend";
    Mandate, "mandate", "the mandate of a direct debit", Anything,
        "mandatsreferenz mandatereference mandateid mandaatkenmerk machtigingskenmerk referencemandat";
    Reference, "reference", "the payee's reference", Anything,
        "referenz reference zahlungsreferenz betalingskenmerk referencia reference1 sammlerreferenz \
         riferimento invoiceid invoicenumber rechnungsnummer ref creditorreference";
    Check, "check", "the number of a cheque", Anything,
        "checknumber chequenumber checkno chequeno check checkorslip schecknummer numerodecheque numcheque \
         slip serialnumber";
}

impl Role {
    /// Parses the name of a role.
    pub fn parse(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }

    /// Whether several columns may have this role: descriptions are joined, and the first date that is present is used.
    pub(crate) fn is_multi_column(self) -> bool {
        matches!(self, Role::Description | Role::Date)
    }

    /// The roles that a column's name suggests, with a rank (0 is best). A name may suggest several roles: `valuta` is
    /// a currency in one language and a date in another; the cells decide.
    pub(crate) fn for_header(name: &str) -> &'static [(Role, usize)] {
        static ROLES_BY_HEADER: OnceLock<HashMap<&'static str, Vec<(Role, usize)>>> = OnceLock::new();
        let roles_by_header = ROLES_BY_HEADER.get_or_init(|| {
            let mut roles_by_header: HashMap<&'static str, Vec<(Role, usize)>> = HashMap::new();
            for role in Role::ALL {
                for (rank, name) in role.header_names().split(' ').enumerate() {
                    roles_by_header.entry(name).or_default().push((role, rank));
                }
            }
            roles_by_header
        });
        roles_by_header.get(normalize_header(name).as_str()).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The currency in a column's name, as in `Betrag (EUR)`.
pub(crate) fn currency_in_name(name: &str) -> Option<Currency> {
    split_words(name).find_map(common_currency)
}

fn common_currency(word: &str) -> Option<Currency> {
    const COMMON: &str = "EUR USD GBP CHF JPY CAD AUD NZD SEK NOK DKK PLN CZK HUF RON BGN TRY BRL MXN INR CNY HKD \
         SGD ZAR ILS THB KRW RUB UAH AED USDC ISK PHP IDR MYR ARS";
    match word {
        "€" | "$" | "£" => Currency::from_code_or_symbol(word),
        _ if !(3..=4).contains(&word.len()) || !word.bytes().all(|byte| byte.is_ascii_uppercase()) => None,
        _ => COMMON.split(' ').any(|code| code == word).then(|| Currency::parse(word).ok())?,
    }
}

fn split_words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric() && !matches!(c, '€' | '$' | '£'))
        .filter(|word| !word.is_empty())
}

/// A name without case, accents, punctuation and currencies.
pub(crate) fn normalize_header(name: &str) -> String {
    // No known column name is longer, and prose does not need normalization.
    if name.len() > 80 {
        return String::new();
    }
    let mut normalized = String::with_capacity(name.len());
    let mut words = split_words(name).peekable();
    while let Some(word) = words.next() {
        // `Betrag in EUR` is a `Betrag`.
        let of_currency =
            matches!(word, "in" | "en") && words.peek().is_some_and(|next| common_currency(next).is_some());
        if of_currency || common_currency(word).is_some() {
            continue;
        }
        for letter in word.chars().flat_map(char::to_lowercase) {
            match letter {
                'ä' | 'á' | 'à' | 'â' | 'ã' | 'å' | 'ą' => normalized.push('a'),
                'é' | 'è' | 'ê' | 'ë' | 'ę' | 'ě' => normalized.push('e'),
                'í' | 'ì' | 'î' | 'ï' => normalized.push('i'),
                'ö' | 'ó' | 'ò' | 'ô' | 'õ' | 'ø' => normalized.push('o'),
                'ü' | 'ú' | 'ù' | 'û' | 'ů' => normalized.push('u'),
                'ñ' | 'ń' => normalized.push('n'),
                'ç' | 'ć' | 'č' => normalized.push('c'),
                'ł' => normalized.push('l'),
                'ś' | 'š' => normalized.push('s'),
                'ž' | 'ż' | 'ź' => normalized.push('z'),
                'ß' => normalized.push_str("ss"),
                'æ' => normalized.push_str("ae"),
                'œ' => normalized.push_str("oe"),
                _ => normalized.push(letter),
            }
        }
    }
    normalized
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best_role(name: &str) -> Option<Role> {
        Role::for_header(name).iter().min_by_key(|(_, rank)| *rank).map(|(role, _)| *role)
    }

    #[test]
    fn recognizes_headers_in_several_languages() {
        for (name, role) in [
            ("Buchungstag", Role::Date),
            ("Date opération", Role::Date),
            ("Fecha operación", Role::Date),
            ("Betrag (EUR)", Role::Amount),
            ("Umsatz in EUR", Role::Amount),
            ("Bedrag (€)", Role::Amount),
            ("Soll", Role::Debit),
            ("Paid out", Role::Debit),
            ("Af Bij", Role::Side),
            ("Solde", Role::Balance),
            ("Währung", Role::Currency),
            ("Begünstigter/Zahlungspflichtiger", Role::Counterparty),
            ("Zahlungsempfänger*in", Role::Payee),
            ("Naam / Omschrijving", Role::Counterparty),
            ("Libellé", Role::Description),
            ("Running Bal.", Role::Balance),
        ] {
            assert_eq!(best_role(name), Some(role), "{name}");
        }
        assert_eq!(best_role("Lorem ipsum"), None);
    }

    #[test]
    fn role_header_names_are_unique() {
        for role in Role::ALL {
            assert_eq!(Role::parse(role.name()), Some(role));
            let names: Vec<&str> = role.header_names().split(' ').collect();
            for (index, name) in names.iter().enumerate() {
                assert_eq!(normalize_header(name), *name, "{role:?}");
                assert!(!names.iter().skip(index + 1).any(|other| other == name), "{role:?}: {name}");
            }
        }
    }

    #[test]
    fn finds_currency_in_header() {
        assert_eq!(currency_in_name("Betrag (EUR)"), Some(Currency::EUR));
        assert_eq!(currency_in_name("Amount $"), Some(Currency::USD));
        assert_eq!(currency_in_name("Amount out"), None);
    }
}
