//! The tables of this scheme.
//!
//! Every list of a tool is a range of one index. An amount takes two integer columns. The transaction that posts also
//! updates totals and the largest transactions per month, so that no page and no question scans the ledger.

use quad_store::Component;

/// The tables of this scheme.
pub const COMPONENT: Component =
    Component { name: "brain", migrations: &[LEDGER, TRANSFERS, COUNTERPARTIES] };

const LEDGER: &str = r#"
-- Artifacts. Their bytes are in brain_chunk under their hash; a row here means that all of them are stored.
CREATE TABLE brain_raw (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    source_type TEXT NOT NULL,
    source_ref TEXT NOT NULL,
    mime_type TEXT,
    bytes BIGINT NOT NULL,
    ingested_at BIGINT NOT NULL,
    ingested_by TEXT NOT NULL,
    projection_status TEXT,
    cited BIGINT NOT NULL,
    tombstoned_at BIGINT,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX brain_raw_by_hash ON brain_raw (tenant_id, sha256);

CREATE TABLE brain_chunk (
    tenant_id TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    number BIGINT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (tenant_id, sha256, number)
);

-- Which agent contributed which artifact. The same bytes from two agents are one artifact and two contributions.
CREATE TABLE brain_contribution (
    tenant_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    raw_id TEXT NOT NULL,
    source_ref TEXT NOT NULL,
    held BIGINT NOT NULL,
    contributed_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, agent_id, raw_id)
);
CREATE INDEX brain_contribution_held ON brain_contribution (tenant_id, agent_id, held, raw_id);

CREATE TABLE brain_contributor (
    tenant_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    contribution_count BIGINT NOT NULL,
    hold_cleared_at BIGINT,
    PRIMARY KEY (tenant_id, agent_id)
);

-- Projections: what a parser extracted from an artifact. Immutable.
CREATE TABLE brain_parsed (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    raw_id TEXT NOT NULL,
    parser TEXT NOT NULL,
    parser_version TEXT NOT NULL,
    extracted TEXT NOT NULL,
    confidence DOUBLE,
    extracted_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX brain_parsed_by_artifact ON brain_parsed (tenant_id, raw_id, parser, parser_version);

-- How many entries of a statement are posted to an account, so that an interrupted import resumes there.
CREATE TABLE brain_import (
    tenant_id TEXT NOT NULL,
    parsed_id TEXT NOT NULL,
    statement BIGINT NOT NULL,
    account_id TEXT NOT NULL,
    posted BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, parsed_id, statement, account_id)
);

-- The column mapping of an account's last statement, used for the next one.
CREATE TABLE brain_mapping (
    tenant_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    mapping TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, account_id)
);

-- current_balance is the newest reported balance plus what was posted after it; posted is the sum of everything posted.
CREATE TABLE brain_account (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    account_type TEXT NOT NULL,
    institution TEXT,
    external_account_id TEXT,
    currency TEXT NOT NULL,
    current_balance_units BIGINT NOT NULL,
    current_balance_nanos BIGINT NOT NULL,
    available_balance_units BIGINT,
    available_balance_nanos BIGINT,
    status TEXT NOT NULL,
    posted_units BIGINT NOT NULL,
    posted_nanos BIGINT NOT NULL,
    balance_as_of BIGINT,
    transaction_count BIGINT NOT NULL,
    unreconciled_count BIGINT NOT NULL,
    source_ids TEXT NOT NULL,
    evidence_ids TEXT NOT NULL,
    provenance TEXT NOT NULL,
    confidence DOUBLE NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CHECK (source_ids <> '[]' OR evidence_ids <> '[]')
);
CREATE INDEX brain_account_by_age ON brain_account (tenant_id, created_at, id);
CREATE UNIQUE INDEX brain_account_by_external ON brain_account (tenant_id, external_account_id);

CREATE TABLE brain_balance (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    as_of BIGINT NOT NULL,
    current_balance_units BIGINT NOT NULL,
    current_balance_nanos BIGINT NOT NULL,
    available_balance_units BIGINT,
    available_balance_nanos BIGINT,
    pending_balance_units BIGINT,
    pending_balance_nanos BIGINT,
    currency TEXT NOT NULL,
    source_ids TEXT NOT NULL,
    evidence_ids TEXT NOT NULL,
    provenance TEXT NOT NULL,
    confidence DOUBLE NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CHECK (source_ids <> '[]' OR evidence_ids <> '[]')
);
CREATE UNIQUE INDEX brain_balance_by_account ON brain_balance (tenant_id, account_id, as_of);

-- dedup_key is the bank's own id or a fingerprint. It begins with the day, so that the rows of a statement are stored
-- together.
CREATE TABLE brain_transaction (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    amount_units BIGINT NOT NULL,
    amount_nanos BIGINT NOT NULL,
    currency TEXT NOT NULL,
    direction TEXT NOT NULL,
    effect TEXT NOT NULL,
    account_id TEXT NOT NULL,
    external_transaction_id TEXT,
    dedup_key TEXT NOT NULL,
    transaction_date BIGINT NOT NULL,
    posted_date BIGINT,
    counterparty_id TEXT,
    category_id TEXT,
    status TEXT NOT NULL,
    description_raw TEXT,
    description_normalized TEXT,
    reconciliation_status TEXT,
    chain_tx_hash TEXT,
    source_ids TEXT NOT NULL,
    evidence_ids TEXT NOT NULL,
    provenance TEXT NOT NULL,
    confidence DOUBLE NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CHECK (source_ids <> '[]' OR evidence_ids <> '[]')
) WITHOUT ROWID;
CREATE INDEX brain_transaction_by_date ON brain_transaction (tenant_id, transaction_date, id);
CREATE INDEX brain_transaction_by_account ON brain_transaction (tenant_id, account_id, transaction_date, id);
CREATE INDEX brain_transaction_by_counterparty ON brain_transaction (tenant_id, counterparty_id, transaction_date, id)
    WHERE counterparty_id IS NOT NULL;
CREATE UNIQUE INDEX brain_transaction_once ON brain_transaction (tenant_id, account_id, dedup_key);

-- Sums of posted and cleared transactions by month and over all time: of everything, by account, counterparty and category.
-- Sums of open obligations, of everything and by counterparty (period open, direction payable or receivable).
CREATE TABLE brain_total (
    tenant_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    period TEXT NOT NULL,
    currency TEXT NOT NULL,
    direction TEXT NOT NULL,
    count BIGINT NOT NULL,
    units BIGINT NOT NULL,
    nanos BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, kind, subject_id, period, currency, direction)
) WITHOUT ROWID;
CREATE INDEX brain_total_ranked ON brain_total (tenant_id, kind, period, currency, direction, units, nanos, subject_id);

-- The largest transactions of a month.
CREATE TABLE brain_peak (
    tenant_id TEXT NOT NULL,
    period TEXT NOT NULL,
    currency TEXT NOT NULL,
    direction TEXT NOT NULL,
    transaction_id TEXT NOT NULL,
    units BIGINT NOT NULL,
    nanos BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, period, currency, direction, transaction_id)
) WITHOUT ROWID;

CREATE TABLE brain_counterparty (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    display_name TEXT,
    normalized_name TEXT NOT NULL,
    kind TEXT NOT NULL,
    risk_level TEXT,
    verified_status TEXT,
    trust_status TEXT NOT NULL,
    trust_reviewed_at BIGINT,
    aliases TEXT NOT NULL,
    linked_accounts TEXT NOT NULL,
    agent_id TEXT,
    onchain_address TEXT,
    metadata TEXT NOT NULL,
    source_ids TEXT NOT NULL,
    evidence_ids TEXT NOT NULL,
    provenance TEXT NOT NULL,
    confidence DOUBLE NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CHECK (source_ids <> '[]' OR evidence_ids <> '[]')
);
CREATE UNIQUE INDEX brain_counterparty_by_name ON brain_counterparty (tenant_id, normalized_name, kind);
CREATE INDEX brain_counterparty_listed ON brain_counterparty (tenant_id, normalized_name, id);
CREATE TABLE brain_alias (
    tenant_id TEXT NOT NULL,
    alias TEXT NOT NULL,
    counterparty_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, alias, counterparty_id)
) WITHOUT ROWID;

CREATE TABLE brain_obligation (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    counterparty_id TEXT NOT NULL,
    amount_due_units BIGINT NOT NULL,
    amount_due_nanos BIGINT NOT NULL,
    minimum_due_units BIGINT,
    minimum_due_nanos BIGINT,
    currency TEXT NOT NULL,
    due_date BIGINT NOT NULL,
    recurrence TEXT,
    status TEXT NOT NULL,
    linked_transaction_ids TEXT NOT NULL,
    direction TEXT,
    metadata TEXT NOT NULL,
    source_ids TEXT NOT NULL,
    evidence_ids TEXT NOT NULL,
    provenance TEXT NOT NULL,
    confidence DOUBLE NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CHECK (source_ids <> '[]' OR evidence_ids <> '[]')
);
CREATE INDEX brain_obligation_by_due ON brain_obligation (tenant_id, due_date, id);
CREATE INDEX brain_obligation_by_status ON brain_obligation (tenant_id, status, due_date, id);
CREATE INDEX brain_obligation_by_kind ON brain_obligation (tenant_id, kind, due_date, id);
CREATE INDEX brain_obligation_by_counterparty ON brain_obligation (tenant_id, counterparty_id, due_date, id);

CREATE TABLE brain_invoice (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    invoice_number TEXT NOT NULL,
    counterparty_id TEXT NOT NULL,
    counterparty_name TEXT,
    amount_due_units BIGINT NOT NULL,
    amount_due_nanos BIGINT NOT NULL,
    amount_paid_units BIGINT NOT NULL,
    amount_paid_nanos BIGINT NOT NULL,
    currency TEXT NOT NULL,
    issue_date BIGINT NOT NULL,
    due_date BIGINT,
    status TEXT NOT NULL,
    linked_document_ids TEXT NOT NULL,
    linked_transaction_ids TEXT NOT NULL,
    metadata TEXT NOT NULL,
    source_ids TEXT NOT NULL,
    evidence_ids TEXT NOT NULL,
    provenance TEXT NOT NULL,
    confidence DOUBLE NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CHECK (source_ids <> '[]' OR evidence_ids <> '[]')
);
CREATE UNIQUE INDEX brain_invoice_by_number ON brain_invoice (tenant_id, invoice_number, counterparty_id);
CREATE INDEX brain_invoice_by_issue ON brain_invoice (tenant_id, issue_date, id);
CREATE INDEX brain_invoice_by_counterparty ON brain_invoice (tenant_id, counterparty_id, issue_date, id);

CREATE TABLE brain_category (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    parent_id TEXT,
    kind TEXT NOT NULL,
    source_ids TEXT NOT NULL,
    evidence_ids TEXT NOT NULL,
    provenance TEXT NOT NULL,
    confidence DOUBLE NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CHECK (source_ids <> '[]' OR evidence_ids <> '[]')
);
CREATE UNIQUE INDEX brain_category_by_name ON brain_category (tenant_id, name);

CREATE TABLE brain_transfer (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    from_account_id TEXT NOT NULL,
    to_account_id TEXT NOT NULL,
    from_transaction_id TEXT NOT NULL,
    to_transaction_id TEXT NOT NULL,
    amount_units BIGINT NOT NULL,
    amount_nanos BIGINT NOT NULL,
    currency TEXT NOT NULL,
    transfer_date BIGINT NOT NULL,
    source_ids TEXT NOT NULL,
    evidence_ids TEXT NOT NULL,
    provenance TEXT NOT NULL,
    confidence DOUBLE NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CHECK (source_ids <> '[]' OR evidence_ids <> '[]')
);
CREATE UNIQUE INDEX brain_transfer_from ON brain_transfer (tenant_id, from_transaction_id);
CREATE UNIQUE INDEX brain_transfer_to ON brain_transfer (tenant_id, to_transaction_id);

CREATE TABLE brain_match (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    match_type TEXT NOT NULL,
    left_kind TEXT NOT NULL,
    left_id TEXT NOT NULL,
    right_kind TEXT NOT NULL,
    right_id TEXT NOT NULL,
    confidence_score DOUBLE NOT NULL,
    status TEXT NOT NULL,
    explanation TEXT,
    source_ids TEXT NOT NULL,
    evidence_ids TEXT NOT NULL,
    provenance TEXT NOT NULL,
    confidence DOUBLE NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CHECK (source_ids <> '[]' OR evidence_ids <> '[]')
);
CREATE INDEX brain_match_left ON brain_match (tenant_id, left_id, id);
CREATE INDEX brain_match_right ON brain_match (tenant_id, right_id, id);

CREATE TABLE brain_payment_intent (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    created_by_agent_id TEXT,
    action_type TEXT NOT NULL,
    source_account_id TEXT NOT NULL,
    destination_counterparty_id TEXT NOT NULL,
    amount_units BIGINT NOT NULL,
    amount_nanos BIGINT NOT NULL,
    currency TEXT NOT NULL,
    obligation_id TEXT,
    invoice_id TEXT,
    status TEXT NOT NULL,
    policy_decision_id TEXT,
    approval_ids TEXT NOT NULL,
    execution_receipt_ids TEXT NOT NULL,
    evidence_score DOUBLE,
    risk_level TEXT,
    source_ids TEXT NOT NULL,
    evidence_ids TEXT NOT NULL,
    provenance TEXT NOT NULL,
    confidence DOUBLE NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CHECK (source_ids <> '[]' OR evidence_ids <> '[]')
);
CREATE INDEX brain_payment_intent_by_age ON brain_payment_intent (tenant_id, created_at, id);
CREATE INDEX brain_payment_intent_by_agent ON brain_payment_intent (tenant_id, created_by_agent_id, created_at, id);
CREATE INDEX brain_payment_intent_own ON brain_payment_intent (tenant_id, created_by_agent_id, id);
CREATE INDEX brain_payment_intent_by_obligation ON brain_payment_intent (tenant_id, obligation_id, created_at, id);
CREATE INDEX brain_payment_intent_by_status ON brain_payment_intent (tenant_id, status, created_at, id);

CREATE TABLE brain_policy (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    version BIGINT NOT NULL,
    state TEXT NOT NULL,
    content TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    signers TEXT NOT NULL,
    quorum_required BIGINT NOT NULL,
    activated_at BIGINT,
    source_ids TEXT NOT NULL,
    evidence_ids TEXT NOT NULL,
    provenance TEXT NOT NULL,
    confidence DOUBLE NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CHECK (source_ids <> '[]' OR evidence_ids <> '[]')
);
CREATE UNIQUE INDEX brain_policy_active ON brain_policy (tenant_id, state) WHERE state = 'active';

-- The newest revision of each page that was read, and all revisions.
CREATE TABLE brain_page (
    tenant_id TEXT NOT NULL,
    slug TEXT NOT NULL,
    page_id TEXT NOT NULL,
    rendered_version BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, slug)
);
CREATE TABLE brain_page_revision (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    slug TEXT NOT NULL,
    page_type TEXT NOT NULL,
    subject_id TEXT,
    body_md TEXT NOT NULL,
    source_revision TEXT NOT NULL,
    rendered_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
"#;

const TRANSFERS: &str = r#"
-- Transactions that are marked as one side of a transfer and wait for the other side; named is the number or name of the
-- other account, if the statement names one.
CREATE TABLE brain_transfer_waiting (
    tenant_id TEXT NOT NULL,
    transaction_id TEXT NOT NULL,
    transaction_date BIGINT NOT NULL,
    named TEXT,
    PRIMARY KEY (tenant_id, transaction_id)
) WITHOUT ROWID;
CREATE INDEX brain_transfer_waiting_by_date
    ON brain_transfer_waiting (tenant_id, transaction_date, transaction_id);
-- The other side has the same amount. The index by (account, day) also holds the amount, since an index by amount would
-- scatter the rows of an import over the disk.
DROP INDEX brain_transaction_by_account;
CREATE INDEX brain_transaction_by_account
    ON brain_transaction (tenant_id, account_id, transaction_date, id, amount_units, amount_nanos, effect);

-- The part of the current balance that only an agent or a customer asserts.
ALTER TABLE brain_account ADD COLUMN unconfirmed_units BIGINT NOT NULL DEFAULT 0;
ALTER TABLE brain_account ADD COLUMN unconfirmed_nanos BIGINT NOT NULL DEFAULT 0;
ALTER TABLE brain_account ADD COLUMN unconfirmed_count BIGINT NOT NULL DEFAULT 0;
UPDATE brain_account SET
    unconfirmed_units = COALESCE((
        SELECT CAST(SUM(CASE effect WHEN 'credit' THEN amount_units ELSE -amount_units END) AS BIGINT)
        FROM brain_transaction WHERE brain_transaction.tenant_id = brain_account.tenant_id
        AND brain_transaction.account_id = brain_account.id AND brain_transaction.status IN ('posted', 'cleared')
        AND brain_transaction.provenance IN ('agent_contributed', 'customer_asserted')
        AND (balance_as_of IS NULL OR transaction_date > balance_as_of)), 0),
    unconfirmed_nanos = COALESCE((
        SELECT CAST(SUM(CASE effect WHEN 'credit' THEN amount_nanos ELSE -amount_nanos END) AS BIGINT)
        FROM brain_transaction WHERE brain_transaction.tenant_id = brain_account.tenant_id
        AND brain_transaction.account_id = brain_account.id AND brain_transaction.status IN ('posted', 'cleared')
        AND brain_transaction.provenance IN ('agent_contributed', 'customer_asserted')
        AND (balance_as_of IS NULL OR transaction_date > balance_as_of)), 0),
    unconfirmed_count = (
        SELECT COUNT(*) FROM brain_transaction WHERE brain_transaction.tenant_id = brain_account.tenant_id
        AND brain_transaction.account_id = brain_account.id AND brain_transaction.status IN ('posted', 'cleared')
        AND brain_transaction.provenance IN ('agent_contributed', 'customer_asserted')
        AND (balance_as_of IS NULL OR transaction_date > balance_as_of));
"#;

const COUNTERPARTIES: &str = r#"
-- By account before the day: a statement has one account, and by day alone its rows would scatter over many pages.
DROP INDEX brain_transaction_by_counterparty;
CREATE INDEX brain_transaction_by_counterparty
    ON brain_transaction (tenant_id, counterparty_id, account_id, transaction_date, id)
    WHERE counterparty_id IS NOT NULL;
"#;
