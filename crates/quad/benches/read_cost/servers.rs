//! The servers that `quad` is compared with.

use std::sync::Arc;

use axum::serve::ListenerExt as _;
use rmcp::model::{
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};

/// The lower bound: axum returns fixed bytes.
pub async fn serve_bare(body: String) {
    let body = bytes::Bytes::from(body);
    let answer = move || {
        let body = body.clone();
        async move { ([("content-type", "application/json")], body) }
    };
    serve(axum::Router::new().route("/mcp", axum::routing::post(answer))).await;
}

/// The official SDK in its leanest setup: no sessions, no streams.
pub async fn serve_rmcp(text: String) {
    let mut config = StreamableHttpServerConfig::default();
    config.legacy_session_mode = false;
    config.json_response = true;
    let handler = FixedResource(text.into());
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    serve(axum::Router::new().route_service("/mcp", service)).await;
}

async fn serve(router: axum::Router) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    // Without nodelay the servers would be slower, and the ratio better for `quad` than it is. A failure is harmless.
    let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
    axum::serve(listener, router).await.unwrap();
}

#[derive(Clone)]
struct FixedResource(Arc<str>);

impl ServerHandler for FixedResource {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_resources().build())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = ResourceContents::text(self.0.to_string(), request.uri);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}
