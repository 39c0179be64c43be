//! A neighborhood with the links of its node: what cites it and what it cites, across all schemes. Whoever keeps these links is
//! known as [`Citations`](quad_core::Citations) only.

use quad_core::{ReadSet, Content, JsonObjectWriter, Principal, ReadOutput, Result};
use quad_store::Sql as _;

use crate::held::Graph;
use crate::node::NodeId;
use crate::walk::Neighbourhood;
use crate::{Amem, micros};

/// `amem://node/{id}/neighborhood` with its links. It depends on what else its reader can read, and on things whose coming back no
/// tag tells; so it is not kept.
pub(crate) async fn read(amem: &Amem, caller: &Principal, id: NodeId, depth: usize) -> Result<ReadOutput> {
    let (document, basis) = around(amem, caller, id, depth, 0).await?;
    let reading = ReadOutput::new(Content::from_json_text(document.into()), basis);
    Ok(ReadOutput { cacheable: false, ..reading })
}

/// A page of what lies around a node. Its links, if the caller sees any, stand on the first.
pub(crate) async fn around(
    amem: &Amem,
    caller: &Principal,
    id: NodeId,
    depth: usize,
    offset: usize,
) -> Result<(JsonObjectWriter, ReadSet)> {
    let held = amem.held.clone();
    let read = move |sql: &mut quad_store::Snapshot<'_>| {
        let found = Neighbourhood::around(&mut Graph::new(sql, &held)?, id, depth, offset)?;
        Ok((found.document(micros::now()), found.rests_on(ReadSet::at_version(sql.version()))))
    };
    let (mut document, basis) = amem.store.read_inline(&caller.tenant, read).await?;
    let (Some(citations), 0) = (&amem.citations, offset) else {
        return Ok((document, basis));
    };
    let cited = citations.links_of(caller, &id.uri()).await?;
    if !cited.links.is_empty() {
        document.put("links", cited.links);
    }
    if cited.is_truncated {
        document.put("links_cut", true);
    }
    let mut basis = basis.merge(&cited.read_set);
    basis.visible_hash = cited.read_set.visible_hash;
    Ok((document, basis))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use quad_core::resolver::View;
    use quad_core::tool::NoProgress;
    use quad_core::{BoxFuture, LinkIndex, VisibleLinks, Resolver, Scheme, Tag};
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::fixtures;

    /// One link of node 0 for whoever is named so, and how often it was asked.
    #[derive(Default)]
    struct Keeper(AtomicUsize);

    impl LinkIndex for Keeper {
        fn links_of<'a>(&'a self, caller: &'a Principal, uri: &'a str) -> BoxFuture<'a, Result<VisibleLinks>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Box::pin(async move {
                let is_seen = uri == "amem://node/0" && &*caller.subject == "agent_1";
                let veiled = ReadSet::default().with_tag(Tag::new("link:to:x"));
                let mut basis = ReadSet::default().merge_hidden(&veiled);
                basis.visible_hash = Some("these".into());
                let links = if is_seen { vec![json!({"to": uri})] } else { Vec::new() };
                Ok(VisibleLinks { links, is_truncated: is_seen, read_set: basis })
            })
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_neighborhood_shows_the_links_of_its_node() {
        for world in fixtures().await {
            let keeper = Arc::new(Keeper::default());
            let store = Arc::new(world.test.store.clone());
            let folder = tempfile::tempdir().unwrap();
            let amem = Amem::new(world.test.store.clone(), folder.path()).with_citations(keeper.clone());
            let amem = Arc::new(amem);
            let resolver = Resolver::new(vec![amem as Arc<dyn Scheme>], store.clone(), store).unwrap();
            let read = async |caller: &Principal, uri: &str| {
                let answer = resolver.read(caller, View::All, uri).await.unwrap();
                assert!(!answer.read.cacheable, "it depends on who reads it");
                assert!(answer.read.read_set.is_invalidated_by(&[Tag::new("link:to:x")]));
                assert_eq!(answer.read.read_set.visible_hash.as_deref(), Some("these"));
                serde_json::from_slice::<Value>(answer.read.contents[0].bytes()).unwrap()
            };
            let shown = read(&world.caller, "amem://node/0/neighborhood").await;
            assert_eq!(
                (&shown["links"], &shown["links_cut"]),
                (&json!([{"to": "amem://node/0"}]), &json!(true))
            );
            let alone = world.read("amem://node/1/neighborhood").await.unwrap();
            assert_eq!(read(&world.caller, "amem://node/1/neighborhood").await, alone);
            let other = Principal { subject: "agent_2".into(), ..world.caller.clone() };
            assert!(read(&other, "amem://node/0/neighborhood").await.get("links").is_none());
            let arguments = json!({"node_id": 0}).as_object().unwrap().clone();
            let context =
                resolver.call_tool(&world.caller, View::All, "memory_context", arguments, &NoProgress).await;
            assert_eq!(context.unwrap().structured_value().unwrap(), shown);
            // Whether it is there is asked of the graph alone.
            let asked = keeper.0.load(Ordering::Relaxed);
            resolver.check_readable(&world.caller, "amem://node/0/neighborhood").await.unwrap();
            assert!(resolver.check_readable(&world.caller, "amem://node/99/neighborhood").await.is_err());
            assert_eq!(keeper.0.load(Ordering::Relaxed), asked);
        }
    }
}
