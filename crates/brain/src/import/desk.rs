//! The desk: what the steps of one commit share, whichever files they are of.

use std::sync::Arc;

use quad_core::Result;
use quad_store::Tx;

use super::rows::Met;
use crate::own::OwnAccounts;
use crate::posting::Effects;
use crate::tags::Touched;

/// What the steps of one commit share.
pub(super) struct Desk {
    pub(super) met: Met,
    pub(super) effects: Effects,
    pub(super) touched: Touched,
    /// The own accounts, unless they are to be looked up again.
    pub(super) own: Option<Arc<OwnAccounts>>,
    /// Transfers that were paired.
    pub(super) paired: usize,
}

impl Desk {
    pub(super) fn set_up(tx: &mut Tx<'_>, met: Met, own: Option<Arc<OwnAccounts>>) -> Result<Desk> {
        tx.lock("brain")?;
        Ok(Desk { met, effects: Effects::of(tx), touched: Touched::default(), own, paired: 0 })
    }

    pub(super) fn own(&mut self, tx: &mut Tx<'_>) -> Result<Arc<OwnAccounts>> {
        match &self.own {
            Some(own) => Ok(own.clone()),
            None => Ok(self.own.insert(Arc::new(OwnAccounts::load(tx)?)).clone()),
        }
    }

    /// Writes what was gathered.
    pub(super) fn clear(mut self, tx: &mut Tx<'_>) -> Result<(Met, Option<Arc<OwnAccounts>>)> {
        self.effects.write(tx)?;
        self.touched.touch(tx);
        Ok((self.met, self.own))
    }
}
