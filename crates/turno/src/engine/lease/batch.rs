//! Batches of lease commands.

use super::LeaseAnswer;
use crate::engine::Turno;
use crate::error::Error;
use futures_util::future::join_all;
use std::collections::BTreeMap;
use turno_core::fault::{Fault, Invalid};
use turno_core::id::Resource;
use turno_core::lease::Command;
use turno_core::limits::BATCH_MAX;

impl Turno {
    /// Executes up to 1000 lease commands independently and returns one answer per command, in order. Commands on
    /// different resources share transactions. Commands on the same resource run one after the other, in the given
    /// order.
    ///
    /// ```
    /// # use turno::lease::Action;
    /// # turno_testkit::example(async |turno| {
    /// let claim = |resource, user| turno.command(resource, user, Action::Claim { ttl: None, wait: false });
    /// let answers = turno.lease_batch(vec![claim("caja:1", "ana")?, claim("caja:1", "luis")?]).await;
    /// assert!(answers[0].as_ref().is_ok_and(|first| first.answer.is_ok()));
    /// assert!(answers[1].as_ref().is_ok_and(|second| second.answer.is_err()), "ana holds it");
    /// # Ok(()) });
    /// ```
    pub async fn lease_batch(&self, commands: Vec<Command>) -> Vec<Result<LeaseAnswer, Error>> {
        if commands.len() > BATCH_MAX {
            let many = Invalid::new("leases", Fault::TooMany { max: BATCH_MAX, given: commands.len() });
            return commands.iter().map(|_| Err(many.clone().into())).collect();
        }
        let mut chains: BTreeMap<Resource, Vec<(usize, Command)>> = BTreeMap::new();
        for (index, command) in commands.into_iter().enumerate() {
            chains.entry(command.resource.clone()).or_default().push((index, command));
        }
        let answers = join_all(chains.into_values().map(|chain| self.lease_chain(chain))).await;
        let mut answers: Vec<_> = answers.into_iter().flatten().collect();
        answers.sort_by_key(|(index, _)| *index);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    async fn lease_chain(&self, chain: Vec<(usize, Command)>) -> Vec<(usize, Result<LeaseAnswer, Error>)> {
        let mut answers = Vec::with_capacity(chain.len());
        for (index, command) in chain {
            answers.push((index, self.lease_command(command).await));
        }
        answers
    }
}
