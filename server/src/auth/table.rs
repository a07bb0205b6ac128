//! Which role may call which method: the whole of it, as data.
//!
//! A method that is not in the table is refused, so that a new one is closed until somebody decides who may call it.

use super::Role;

/// A method of the services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `DecisionService.Decide`
    Decide,
    /// `DecisionService.Explain`
    Explain,
    /// `DecisionService.ReportOutcome`
    ReportOutcome,
    /// `DecisionService.ListTicketKeys`
    ListTicketKeys,
    /// `PolicyService.Push`
    PushPolicy,
    /// `PolicyService.Get`
    GetPolicy,
    /// `PolicyService.List`
    ListPolicies,
    /// `PolicyService.GetSchema`
    GetPolicySchema,
    /// `AuditService.Query`
    QueryTrail,
    /// `AuditService.Tail`
    TailTrail,
    /// `AuditService.Anchor`
    AnchorTrail,
    /// `AuditService.Export`
    ExportTrail,
}

/// What a role may do with a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Nothing.
    No,
    /// Call it for itself.
    Own,
    /// Call it for somebody else, whose token it shows and who may call it for himself.
    Forward,
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The method.
    pub method: Method,
    /// Its path on the wire.
    pub path: &'static str,
    /// Rights of admin, agent, auditor, host, in the order of [`Role::ALL`].
    pub rights: [Right; 4],
}

/// The table.
#[rustfmt::skip]
pub const TABLE: [Line; 12] = {
    use Right::{Forward, No, Own};
    const fn line(method: Method, path: &'static str, rights: [Right; 4]) -> Line {
        Line { method, path, rights }
    }
    [
        //                                                                           admin agent auditor host
        line(Method::Decide,         "/portcullis.v1.DecisionService/Decide",         [Own, Own, No,  Forward]),
        line(Method::Explain,        "/portcullis.v1.DecisionService/Explain",        [Own, Own, No,  Forward]),
        line(Method::ReportOutcome,  "/portcullis.v1.DecisionService/ReportOutcome",  [No,  No,  No,  Own]),
        line(Method::ListTicketKeys, "/portcullis.v1.DecisionService/ListTicketKeys", [No,  No,  No,  Own]),
        line(Method::PushPolicy,     "/portcullis.v1.PolicyService/Push",             [Own, No,  No,  No]),
        line(Method::GetPolicy,      "/portcullis.v1.PolicyService/Get",              [Own, No,  Own, No]),
        line(Method::ListPolicies,   "/portcullis.v1.PolicyService/List",             [Own, No,  Own, No]),
        // What a policy looks like is no secret: whoever may talk to the server may know.
        line(Method::GetPolicySchema, "/portcullis.v1.PolicyService/GetSchema",       [Own, Own, Own, Own]),
        line(Method::QueryTrail,     "/portcullis.v1.AuditService/Query",             [Own, No,  Own, No]),
        line(Method::TailTrail,      "/portcullis.v1.AuditService/Tail",              [Own, No,  Own, No]),
        line(Method::AnchorTrail,    "/portcullis.v1.AuditService/Anchor",            [Own, No,  Own, No]),
        line(Method::ExportTrail,    "/portcullis.v1.AuditService/Export",            [Own, No,  Own, No]),
    ]
};

impl Method {
    /// The method behind a path; `None` for one that is not in the table.
    #[must_use]
    pub fn from_path(path: &str) -> Option<Self> {
        TABLE.iter().find(|line| line.path == path).map(|line| line.method)
    }

    /// Its path on the wire.
    #[must_use]
    pub fn path(self) -> &'static str {
        TABLE
            .iter()
            .find(|line| line.method == self)
            .map_or("", |line| line.path)
    }
}

/// What a role may do with a method.
#[must_use]
pub fn right(role: Role, method: Method) -> Right {
    TABLE
        .iter()
        .find(|line| line.method == method)
        .and_then(|line| Role::ALL.into_iter().zip(line.rights).find(|(known, _)| *known == role))
        .map_or(Right::No, |(_, right)| right)
}

/// Services that anybody may call.
const OPEN: [&str; 3] = [
    "/grpc.health.v1.Health/",
    "/grpc.reflection.v1.ServerReflection/",
    "/grpc.reflection.v1alpha.ServerReflection/",
];

/// Whether a path belongs to a service that anybody may call.
#[must_use]
pub fn is_open(path: &str) -> bool {
    OPEN.iter().any(|service| path.starts_with(service))
}

/// The table as text, a column per role.
#[must_use]
pub fn printed() -> String {
    let mut text = format!("{:<50}", "");
    for role in Role::ALL {
        text.push_str(&format!("{:<9}", role.as_str()));
    }
    for line in &TABLE {
        text.truncate(text.trim_end().len());
        text.push_str(&format!("\n{:<50}", line.path));
        for role in Role::ALL {
            let word = match right(role, line.method) {
                Right::No => "-",
                Right::Own => "own",
                Right::Forward => "forward",
            };
            text.push_str(&format!("{word:<9}"));
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    #[test]
    fn the_table_is_as_reviewed() {
        let expected = include_str!("../../tests/authorisation.txt");
        assert_eq!(
            printed(),
            expected,
            "a changed right has to be changed in tests/authorisation.txt too"
        );
    }

    #[test]
    fn every_method_of_the_services_on_this_server_has_a_line() {
        let set = prost_types::FileDescriptorSet::decode(portcullis_proto::FILE_DESCRIPTOR_SET).unwrap();
        let ours = ["DecisionService", "PolicyService", "AuditService"];
        let mut count = 0;
        for service in set.file.iter().flat_map(|file| &file.service) {
            if ours.contains(&service.name()) {
                for method in &service.method {
                    let path = format!("/portcullis.v1.{}/{}", service.name(), method.name());
                    assert!(Method::from_path(&path).is_some(), "no line for {path}");
                    count += 1;
                }
            }
        }
        assert_eq!(count, TABLE.len(), "the table has a line for a method that is none");
    }

    #[test]
    fn none_of_ours_is_open() {
        assert!(TABLE.iter().all(|line| !is_open(line.path)));
        assert!(is_open("/grpc.health.v1.Health/Check"));
        assert!(!is_open("/grpc.health.v1.HealthX/Check"));
    }
}
