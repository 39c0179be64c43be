//! A neighborhood with the links of its center: the resources of all schemes that cite it and that it cites. The
//! links come from a [`LinkIndex`](quad_core::LinkIndex).

use quad_core::{Content, JsonObjectWriter, Principal, ReadOutput, ReadSet, Result};
use quad_store::Sql as _;

use crate::graph_cache::GraphReader;
use crate::node::NodeId;
use crate::traversal::Neighborhood;
use crate::{Amem, micros};

/// `amem://node/{id}/neighborhood` with its links. Not cacheable: it depends on what else the caller may read, and
/// a resource that exists again invalidates no tag.
pub(crate) async fn read_neighborhood(
    amem: &Amem,
    caller: &Principal,
    id: NodeId,
    depth: usize,
) -> Result<ReadOutput> {
    let (document, basis) = read_with_links(amem, caller, id, depth, 0).await?;
    let reading = ReadOutput::new(Content::from_json_text(document.into()), basis);
    Ok(ReadOutput { cacheable: false, ..reading })
}

/// A page of a neighborhood. The first page has the links that the caller may see.
pub(crate) async fn read_with_links(
    amem: &Amem,
    caller: &Principal,
    id: NodeId,
    depth: usize,
    offset: usize,
) -> Result<(JsonObjectWriter, ReadSet)> {
    let graph_cache = amem.graph_cache.clone();
    let load = move |sql: &mut quad_store::Snapshot<'_>| {
        let neighborhood = Neighborhood::load(&mut GraphReader::new(sql, &graph_cache)?, id, depth, offset)?;
        Ok((
            neighborhood.document(micros::now()),
            neighborhood.add_dependencies(ReadSet::at_version(sql.version())),
        ))
    };
    let (mut document, basis) = amem.store.read_inline(&caller.tenant, load).await?;
    let (Some(link_index), 0) = (&amem.link_index, offset) else {
        return Ok((document, basis));
    };
    let visible = link_index.links_of(caller, &id.uri()).await?;
    if !visible.links.is_empty() {
        document.put("links", visible.links);
    }
    if visible.is_truncated {
        document.put("links_cut", true);
    }
    let mut basis = basis.merge(&visible.read_set);
    basis.visible_hash = visible.read_set.visible_hash;
    Ok((document, basis))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use quad_core::resolver::View;
    use quad_core::tool::NoProgress;
    use quad_core::{LinkIndex, Resolver, Scheme, Tag, VisibleLinks};
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::test_envs_with_data;

    /// Returns one link of node 0 to `agent_1`, and counts its calls.
    #[derive(Default)]
    struct FakeLinkIndex(AtomicUsize);

    #[async_trait::async_trait]
    impl LinkIndex for FakeLinkIndex {
        async fn links_of(&self, caller: &Principal, uri: &str) -> Result<VisibleLinks> {
            self.0.fetch_add(1, Ordering::Relaxed);

            let has_link = uri == "amem://node/0" && &*caller.subject == "agent_1";
            let hidden = ReadSet::default().with_tag(Tag::new("link:to:x"));
            let mut basis = ReadSet::default().merge_hidden(&hidden);
            basis.visible_hash = Some("these".into());
            let links = if has_link { vec![json!({"to": uri})] } else { Vec::new() };
            Ok(VisibleLinks { links, is_truncated: has_link, read_set: basis })
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn neighborhood_includes_visible_links() {
        for env in test_envs_with_data().await {
            let link_index = Arc::new(FakeLinkIndex::default());
            let store = Arc::new(env.test_store.store.clone());
            let folder = tempfile::tempdir().unwrap();
            let amem =
                Amem::new(env.test_store.store.clone(), folder.path()).with_link_index(link_index.clone());
            let amem = Arc::new(amem);
            let resolver = Resolver::new(vec![amem as Arc<dyn Scheme>], store.clone(), store).unwrap();
            let read = async |caller: &Principal, uri: &str| {
                let answer = resolver.read(caller, View::All, uri).await.unwrap();
                assert!(!answer.read.cacheable, "it depends on who reads it");
                assert!(answer.read.read_set.is_invalidated_by(&[Tag::new("link:to:x")]));
                assert_eq!(answer.read.read_set.visible_hash.as_deref(), Some("these"));
                serde_json::from_slice::<Value>(answer.read.contents[0].bytes()).unwrap()
            };
            let neighborhood = read(&env.caller, "amem://node/0/neighborhood").await;
            assert_eq!(
                (&neighborhood["links"], &neighborhood["links_cut"]),
                (&json!([{"to": "amem://node/0"}]), &json!(true))
            );
            let without_links = env.read("amem://node/1/neighborhood").await.unwrap();
            assert_eq!(read(&env.caller, "amem://node/1/neighborhood").await, without_links);
            let other = Principal { subject: "agent_2".into(), ..env.caller.clone() };
            assert!(read(&other, "amem://node/0/neighborhood").await.get("links").is_none());
            let arguments = json!({"node_id": 0}).as_object().unwrap().clone();
            let context =
                resolver.call_tool(&env.caller, View::All, "memory_context", arguments, &NoProgress).await;
            assert_eq!(context.unwrap().structured_value().unwrap(), neighborhood);
            // An existence check reads the graph only.
            let calls_before = link_index.0.load(Ordering::Relaxed);
            resolver.check_readable(&env.caller, "amem://node/0/neighborhood").await.unwrap();
            assert!(resolver.check_readable(&env.caller, "amem://node/99/neighborhood").await.is_err());
            assert_eq!(link_index.0.load(Ordering::Relaxed), calls_before);
        }
    }
}
