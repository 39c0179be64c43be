//! The typed ids of this scheme: a prefix for the type, and a ULID. Loaded rows keep the ids of the file.

use quad_core::typed_id;

typed_id!(
    /// The id of a raw artifact.
    RawId,
    "raw_"
);
typed_id!(
    /// The id of a projection: what a parser extracted from an artifact.
    ParsedId,
    "prs_"
);
typed_id!(
    /// The id of a revision of a wiki page.
    PageId,
    "wpg_"
);
typed_id!(
    /// The id of an account.
    AccountId,
    "acct_"
);
typed_id!(
    /// The id of a reported balance.
    BalanceId,
    "bal_"
);
typed_id!(
    /// The id of a transaction.
    TransactionId,
    "tx_"
);
typed_id!(
    /// The id of a counterparty.
    CounterpartyId,
    "cp_"
);
typed_id!(
    /// The id of an obligation.
    ObligationId,
    "obl_"
);
typed_id!(
    /// The id of an invoice.
    InvoiceId,
    "inv_"
);
typed_id!(
    /// The id of a category.
    CategoryId,
    "cat_"
);
typed_id!(
    /// The id of a transfer between two accounts of the tenant.
    TransferId,
    "xfer_"
);
typed_id!(
    /// The id of a match of two rows.
    MatchId,
    "rcn_"
);
typed_id!(
    /// The id of a payment intent.
    PaymentIntentId,
    "pi_"
);
typed_id!(
    /// The id of a policy.
    PolicyId,
    "pol_"
);
