//! What a team controls beside rules: MCP servers, repositories, browser origins, models.
//!
//! A rule is about a tool call; a control is about what stands around it, so no rule of a lower layer lifts one. Controls
//! only narrow, with one exception: a team may approve MCP servers for everybody, by the command or address that the host
//! read from configuration. What is not known about the call counts as what the control is against.
//!
//! Each document's controls are kept apart: with two of them, a call has to pass both.

mod mcp;
mod models;
mod origin;
mod repository;

pub use mcp::{CommandPattern, LaunchPattern, McpControls, McpEntry, McpSelector, NetworkMode, ToolLists, UrlPattern};
pub use models::ModelControls;
pub use origin::{BrowserControls, OriginPattern};
pub use repository::{Remote, RepositoryControls, RepositoryPattern};

/// The controls of one document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Controls {
    /// On MCP servers.
    pub mcp: McpControls,
    /// On repositories.
    pub repositories: RepositoryControls,
    /// On what a browser may open.
    pub browser: BrowserControls,
    /// On models.
    pub models: ModelControls,
    /// All configured MCP servers count as approved: a flag of the session.
    pub approve_mcp_servers: bool,
}

impl Controls {
    /// What is left of them where the rest of their document was not understood: nothing that widens.
    #[must_use]
    pub fn without_grants(mut self) -> Self {
        self.approve_mcp_servers = false;
        for entry in &mut self.mcp.servers {
            entry.approves = false;
        }
        self
    }

    /// Whether a session may use a model, by its name in any case of letters.
    ///
    /// A name that is not known (empty) is not permitted where any model is controlled.
    #[must_use]
    pub fn permits_model(&self, model: &str) -> bool {
        self.models.permits(model)
    }
}
