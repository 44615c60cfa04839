//! Keeps the lists of a side connection up to date. They may differ from those of the main connection.

use std::time::Duration;

use super::ability_sets::AbilitySets;
use super::current_lists::{CurrentLists, ListError};
use super::relisting::Relisting;
use super::variants::Variants;
use crate::connection::Connection;
use proxy_model::ItemKind;

/// Lists all items on a side connection and follows changes, until the connection ends or its lists are no longer needed.
pub(crate) async fn follow_variant(variants: &Variants, connection: &Connection, timeout: Duration) {
    let (mut current, mut relisting) = (CurrentLists::default(), Relisting::default());
    let (profile, server) = (connection.profile(), connection.server_name());
    let followed = variants.follow(profile, connection.signals());
    let mut sets = AbilitySets::default();
    let mut kinds = ItemKind::ALL.to_vec();
    loop {
        let failed = match current.list(server, connection, &kinds, timeout).await {
            Ok(listed) => {
                if !variants.publish(profile, connection.info(), &current.lists).await {
                    return;
                }
                let failed = listed.record(connection, &followed.freshness);
                sets.list(variants, connection, &current.lists, &kinds, timeout).await;
                failed
            }
            // The supervisor closes all connections.
            Err(ListError::LoginNeeded(_)) => return,
            Err(ListError::Failed(reason)) => {
                tracing::warn!(%server, "{reason}");
                // The rest of these kinds has not been listed either.
                kinds.clone()
            }
        };
        connection.signals().listed(&kinds);
        kinds = relisting.next(connection.signals(), failed).await;
    }
}
