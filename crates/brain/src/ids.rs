//! The ids of this scheme: a prefix that says what it names, and a ULID. Loaded rows keep the ids that they bring.

use quad_core::typed_id;

typed_id!(
    /// A piece of raw evidence.
    RawId,
    "raw_"
);
typed_id!(
    /// What a parser made of a piece of evidence.
    ParsedId,
    "prs_"
);
typed_id!(
    /// One revision of a wiki page.
    PageId,
    "wpg_"
);
typed_id!(
    /// An account.
    AccountId,
    "acct_"
);
typed_id!(
    /// What an account held at a moment.
    BalanceId,
    "bal_"
);
typed_id!(
    /// A movement of money.
    TransactionId,
    "tx_"
);
typed_id!(
    /// Somebody that money comes from or goes to.
    CounterpartyId,
    "cp_"
);
typed_id!(
    /// Something that is owed.
    ObligationId,
    "obl_"
);
typed_id!(
    /// An invoice.
    InvoiceId,
    "inv_"
);
typed_id!(
    /// A category of spending or income.
    CategoryId,
    "cat_"
);
typed_id!(
    /// A transfer between two own accounts.
    TransferId,
    "xfer_"
);
typed_id!(
    /// A match of two rows that tell of the same thing.
    MatchId,
    "rcn_"
);
typed_id!(
    /// A payment that somebody proposed.
    PaymentIntentId,
    "pi_"
);
typed_id!(
    /// A policy.
    PolicyId,
    "pol_"
);
