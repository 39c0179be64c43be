//! State that all import steps of one commit share, across files.

use std::sync::Arc;

use quad_core::Result;
use quad_store::Tx;

use super::transactions::LookupCache;
use crate::own_accounts::OwnAccounts;
use crate::posting::PostingBatch;
use crate::tags::TouchedTags;

/// State that all import steps of one commit share.
pub(super) struct CommitContext {
    pub(super) cache: LookupCache,
    pub(super) batch: PostingBatch,
    pub(super) touched: TouchedTags,
    /// The tenant's accounts by number; `None` if they must be loaded again.
    pub(super) own_accounts: Option<Arc<OwnAccounts>>,
    /// The number of matched transfers in this commit.
    pub(super) paired: usize,
}

impl CommitContext {
    pub(super) fn begin(
        tx: &mut Tx<'_>,
        cache: LookupCache,
        own_accounts: Option<Arc<OwnAccounts>>,
    ) -> Result<CommitContext> {
        tx.lock("brain")?;
        Ok(CommitContext {
            cache,
            batch: PostingBatch::new(tx),
            touched: TouchedTags::default(),
            own_accounts,
            paired: 0,
        })
    }

    pub(super) fn own_accounts(&mut self, tx: &mut Tx<'_>) -> Result<Arc<OwnAccounts>> {
        match &self.own_accounts {
            Some(accounts) => Ok(accounts.clone()),
            None => Ok(self.own_accounts.insert(Arc::new(OwnAccounts::load(tx)?)).clone()),
        }
    }

    /// Writes the accumulated balances, totals and tags. Returns what the next commit can use.
    pub(super) fn flush(mut self, tx: &mut Tx<'_>) -> Result<(LookupCache, Option<Arc<OwnAccounts>>)> {
        self.batch.flush(tx)?;
        self.touched.touch(tx);
        Ok((self.cache, self.own_accounts))
    }
}
