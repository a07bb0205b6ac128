//! The decision: from a request to an answer that is on record.
//!
//! ```text
//! DecideRequest ─question─► Question ─snapshot─► ruleset ─evaluate─► Decision ─record─► committed ─► ticket, answer
//! ```
//!
//! INVARIANT: an allow leaves only after its record is committed. Whatever fails or is late on the way ends in ask where
//! a person is there, in deny where none is, with the reason; see [`FailureVerdict`], which has no third value.
//!
//! A retry outside of the sandbox is never an allow either; see [`retry`].
//!
//! All that reads the caller's input runs on threads for blocking work, a bounded number at a time, so that a costly
//! call delays neither the network nor more than its share of the others.

mod retry;
mod snapshot;
mod trial;

use std::{sync::Arc, time::Duration};

use portcullis_policy::{
    Decision, EffectiveRuleset, Obligation, PolicyDocument, Request, Verdict,
    decision::FailureVerdict,
    evaluate,
    evaluate::classifier_matters,
    explain::{Explanation, explain},
    facts::SandboxOffer,
    mode::{ClassifierReport, ClassifierVerdict},
    sandbox::EffectiveSandbox,
};
use portcullis_proto::{
    convert::{self, Question},
    ticket, v1,
};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{JoinError, JoinHandle, spawn_blocking},
    time::{Instant, timeout_at},
};
use tokio_util::task::TaskTracker;
use tonic::Status;

pub use snapshot::Snapshots;

use retry::Retry;
use snapshot::Compiled;

use crate::{
    audit::{self, Circumstances, Input},
    auth::DecidePermit,
    classifier::Classifier,
    keys::Keys,
    policies::ActivePolicies,
    sessions::{SessionKey, Sessions, call_digest},
    store::{Appended, NewDecision, Reporter, Store, StoreError},
    tally::Tally,
};

/// What evaluates a request. The engine's function, but for tests that need one that fails.
pub type Evaluator = Arc<dyn Fn(&EffectiveRuleset, &Request) -> Decision + Send + Sync>;

/// The engine.
#[must_use]
pub fn engine() -> Evaluator {
    Arc::new(evaluate)
}

/// Who judges.
#[derive(Clone)]
pub struct Judges {
    /// Evaluates requests.
    pub evaluator: Evaluator,
    /// Is asked in the automatic modes.
    pub classifier: Arc<dyn Classifier>,
}

/// How decisions are made.
#[derive(Clone, Copy, Debug)]
pub struct DecideOptions {
    /// From arrival to answer.
    pub deadline: Duration,
    /// Evaluations at the same time.
    pub parallel: usize,
    /// Merged rulesets that are kept.
    pub cache_entries: usize,
    /// How long a ticket may be redeemed.
    pub ticket_lifetime: Duration,
}

/// The policy decision point.
pub struct Decider {
    store: Arc<dyn Store>,
    policies: Arc<ActivePolicies>,
    snapshots: Arc<Snapshots>,
    keys: Arc<Keys>,
    judges: Judges,
    sessions: Arc<Sessions>,
    slots: Arc<Semaphore>,
    options: DecideOptions,
    tasks: TaskTracker,
    tally: Arc<Tally>,
}

/// What a judgement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To be recorded and acted upon.
    Decide,
    /// To be shown: nothing of it counts.
    Explain,
}

/// A question and what it came to.
struct Judged {
    question: Arc<Question>,
    verdict: Verdict,
    run_in_sandbox: bool,
    /// What a command may do there; `None` if there was no policy to decide by.
    sandbox: Option<Arc<EffectiveSandbox>>,
    record: NewDecision,
    answer: v1::DecideResponse,
    /// Where it was wanted, and there was a policy to decide by.
    explanation: Option<Box<Explanation>>,
    /// What the documents come to about the sandbox; `None` if there was no policy to decide by.
    in_force: Option<v1::SandboxInForce>,
}

impl Decider {
    /// Puts the parts together. Work that outlives its call is tracked in `tasks`; what cannot be recorded is counted.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        policies: Arc<ActivePolicies>,
        keys: Arc<Keys>,
        judges: Judges,
        options: DecideOptions,
        tasks: TaskTracker,
        tally: Arc<Tally>,
    ) -> Self {
        Self {
            sessions: Arc::new(Sessions::new(store.clone())),
            store,
            policies,
            snapshots: Arc::new(Snapshots::new(options.cache_entries)),
            keys,
            judges,
            slots: Arc::new(Semaphore::new(options.parallel.clamp(1, Semaphore::MAX_PERMITS))),
            options,
            tasks,
            tally,
        }
    }

    /// Decides, records, and only then answers.
    ///
    /// # Errors
    /// If the message is invalid, or no question could be made of it in time.
    pub async fn decide(&self, permit: DecidePermit, message: v1::DecideRequest) -> Result<v1::DecideResponse, Status> {
        let arrival = Instant::now();
        let judged = self.judge(&permit, message, arrival, Purpose::Decide).await?;
        let Judged {
            question,
            verdict,
            run_in_sandbox,
            sandbox,
            record,
            mut answer,
            explanation: _,
            in_force: _,
        } = judged;
        let decision_id = record.decision_id.clone();
        match self.record(record, arrival + self.options.deadline).await {
            Ok(appended) => {
                if verdict == Verdict::Allow {
                    let bound = question.execution.is_some() || run_in_sandbox;
                    self.grant(&permit, &question, sandbox.as_deref().filter(|_| bound), &mut answer);
                }
                let (principal, request_id) = (permit.principal(), question.request_id);
                tracing::debug!(%request_id, %decision_id, sequence = appended.sequence, %verdict, principal, "decided");
                Ok(answer)
            }
            Err(error) => {
                let reason = error.with_causes();
                self.tally.unrecorded.add();
                tracing::debug!(%verdict, %reason, "a decision could not be recorded");
                Ok(unrecorded(&question, verdict, answer, &reason))
            }
        }
    }

    /// Says what [`Self::decide`] would answer. Records and grants nothing.
    ///
    /// # Errors
    /// As [`Self::decide`].
    pub async fn explain(
        &self,
        permit: DecidePermit,
        message: v1::DecideRequest,
    ) -> Result<v1::ExplainResponse, Status> {
        let judged = self.judge(&permit, message, Instant::now(), Purpose::Explain).await?;
        let answer = judged.answer;
        let mut explained = v1::ExplainResponse {
            would_be: answer.effect,
            decided_by: answer.decided_by,
            rule: answer.rule,
            trace: answer.trace,
            user_message: answer.user_message,
            agent_message: answer.agent_message,
            suggested_rules: answer.suggested_rules,
            policy_version: answer.policy_version,
            sandbox: judged.in_force,
            ..Default::default()
        };
        if let Some(explanation) = &judged.explanation {
            convert::add_reasons(&mut explained, explanation);
        }
        Ok(explained)
    }

    /// The public keys of tickets.
    #[must_use]
    pub fn ticket_keys(&self) -> Vec<v1::TicketKey> {
        let key = self.keys.ticket().verifying_key();
        vec![v1::TicketKey {
            key_id: ticket::key_id(&key),
            public_key: key.as_bytes().to_vec(),
        }]
    }

    /// Understands and evaluates a request, and writes its record, all off the threads that serve.
    async fn judge(
        &self,
        permit: &DecidePermit,
        message: v1::DecideRequest,
        arrival: Instant,
        purpose: Purpose,
    ) -> Result<Judged, Status> {
        // The last quarter of the time belongs to storage: an answer that cannot be recorded any more helps nobody.
        let until = arrival + self.options.deadline * 3 / 4;
        let busy = |_| Status::resource_exhausted("the server is busy: too many calls are being judged; try again");
        let slot = timeout_at(until, self.slots.clone().acquire_owned())
            .await
            .map_err(busy)?;
        let slot = slot.map_err(|_| Status::unavailable("the server is shutting down"))?;

        let vouching = permit.vouching();
        let understood = spawn_blocking(move || (convert::question(message, vouching), slot));
        let late = |_| Status::deadline_exceeded("reading the request took too long");
        let (question, slot) = timeout_at(until, understood).await.map_err(late)?.map_err(|error| {
            tracing::error!(panicked = error.is_panic(), "reading a request failed");
            Status::internal("the server failed while it read the request; it is a bug, and in its log")
        })?;
        let question = Arc::new(question?);
        let retry = retry::find(self.store.as_ref(), &self.keys, permit, &question, until).await?;
        let retry = retry.map(Arc::new);
        let span = tracing::Span::current();
        let judgement = Judgement {
            permit: permit.clone(),
            question: question.clone(),
            snapshots: self.snapshots.clone(),
            policy: self.policies.of(permit.team()),
            keys: self.keys.clone(),
            judges: self.judges.clone(),
            retry: retry.clone(),
            sessions: self.sessions.clone(),
            runtime: Handle::current(),
            purpose,
            arrival,
            classify_until: arrival + self.options.deadline / 2,
            // Held until the evaluation ends, even if nobody waits for it any more: that is what bounds them.
            _slot: slot,
        };
        let policy_version = judgement.policy.version;
        let judged: Result<Result<Judged, JoinError>, _> =
            timeout_at(until, spawn_blocking(move || span.in_scope(|| judgement.run()))).await;
        let reason = match judged {
            Ok(Ok(judged)) => return Ok(judged),
            Ok(Err(error)) => {
                tracing::error!(panicked = error.is_panic(), "judging a call failed");
                "portcullis-server failed while it judged this call; it is a bug, and in its log".to_owned()
            }
            Err(_) => {
                tracing::error!("judging a call took too long");
                format!(
                    "judging this call took longer than {} ms",
                    (until - arrival).as_millis()
                )
            }
        };
        let decision = failure(&question, &reason);
        let ground = Ground {
            permit,
            keys: &self.keys,
            retry: retry.as_deref(),
            policy_version,
            arrival,
            input: Input::LeftOut,
        };
        Ok(judged_as(&ground, question, decision))
    }

    /// Records a decision. Returns only what is known to be committed by the deadline.
    async fn record(&self, record: NewDecision, deadline: Instant) -> Result<Appended, StoreError> {
        let (team, decision_id, verdict) = (record.team.clone(), record.decision_id.clone(), record.verdict);
        let store = self.store.clone();
        let mut writing: JoinHandle<Result<Appended, StoreError>> = self
            .tasks
            .spawn(async move { store.append_decision(record, deadline).await });
        let lost = |cause: JoinError| StoreError::Failed {
            attempt: "record a decision",
            cause: Arc::new(cause),
        };
        if let Ok(written) = timeout_at(deadline, &mut writing).await {
            return written.unwrap_or_else(|cause| Err(lost(cause)));
        }
        // The commit may still succeed. The trail would then show an allow that nobody was given, so it gets an outcome
        // that says so.
        if verdict == Verdict::Allow {
            let store = self.store.clone();
            self.tasks.spawn(async move {
                if let Ok(Ok(_)) = writing.await {
                    let reason = "the answer was withheld: its record was committed too late".to_owned();
                    let end = Some(v1::outcome::End::NotStarted(reason));
                    let outcome = v1::Outcome { end, ..Default::default() };
                    let outcome = audit::outcome(&team, Reporter::Server, &decision_id, outcome);
                    let deadline = Instant::now() + Duration::from_secs(60);
                    if let Err(error) = store.append_outcome(outcome, deadline).await {
                        tracing::error!(%decision_id, error = %crate::failure::chain(&error), "cannot record that an allow was withheld");
                    }
                }
            });
        }
        Err(StoreError::Late)
    }

    /// Adds to an allow that is on record what it is bound to.
    fn grant(
        &self,
        permit: &DecidePermit,
        question: &Question,
        sandbox: Option<&EffectiveSandbox>,
        answer: &mut v1::DecideResponse,
    ) {
        let workspace = &question.request.workspace;
        let masked = question.host.as_ref().map_or(&[][..], |host| &host.masked_paths);
        let timeout = question.execution.as_ref().and_then(|execution| execution.timeout);
        answer.sandbox = sandbox.map(|sandbox| convert::profile(workspace, sandbox, masked, timeout));
        if let (Some(profile), true) = (&mut answer.sandbox, question.trial.is_some()) {
            trial::open_environment(profile);
        }
        if let (Some(execution), Some(host)) = (&question.execution, &question.host) {
            let claims = v1::TicketClaims {
                decision_id: answer.decision_id.clone(),
                key_id: String::new(),
                command_digest: ticket::command_digest(&execution.argv).to_vec(),
                cwd: workspace.cwd.as_str().to_owned(),
                uid: host.uid,
                session_id: question.session_id.clone(),
                team: permit.team().as_str().to_owned(),
                profile: answer.sandbox.clone(),
                policy_version: answer.policy_version,
                host_id: host.host_id.clone(),
                issued_at: Some(convert::timestamp_of(std::time::SystemTime::now())),
                valid_for: Some(convert::duration_of(self.options.ticket_lifetime)),
            };
            answer.ticket = Some(ticket::sign(self.keys.ticket(), claims));
        }
    }
}

/// One evaluation, on a thread of its own.
struct Judgement {
    permit: DecidePermit,
    question: Arc<Question>,
    snapshots: Arc<Snapshots>,
    policy: Arc<crate::policies::TeamPolicy>,
    keys: Arc<Keys>,
    judges: Judges,
    /// What the call is a retry of.
    retry: Option<Arc<Retry>>,
    sessions: Arc<Sessions>,
    /// For what has to be waited for: it is a thread for blocking work, and bounded.
    runtime: Handle,
    purpose: Purpose,
    arrival: Instant,
    /// A classifier that has not answered by then failed.
    classify_until: Instant,
    _slot: OwnedSemaphorePermit,
}

impl Judgement {
    fn run(mut self) -> Judged {
        if let Some(tried) = self.question.trial.clone() {
            return self.try_out(tried);
        }
        let compiled = self.snapshots.compile(&self.policy, &self.question);
        if let Ok(compiled) = &compiled
            && let Some(mode) = compiled.ruleset.default_mode()
            && !self.question.mode_stated
        {
            // The agent does not say in which mode it is (Cursor never does): then the documents do.
            Arc::make_mut(&mut self.question).request.mode = mode;
        }
        if let Ok(compiled) = &compiled {
            self.remember(compiled);
        }
        let mut explanation = match &compiled {
            Ok(compiled) if self.purpose == Purpose::Explain => {
                let mut request = self.question.request.clone();
                request.facts.failures.extend_from_slice(&compiled.faults);
                Some(Box::new(explain(&compiled.documents, &request)))
            }
            _ => None,
        };
        let sandbox = compiled
            .as_ref()
            .ok()
            .map(|compiled| compiled.ruleset.sandbox().clone());
        let in_force = compiled
            .as_ref()
            .ok()
            .map(|compiled| trial::in_force(&compiled.ruleset, &self.policy));
        let accepts = sandbox.as_ref().is_some_and(|sandbox| sandbox.accept_without_landlock);
        let lacks = |host: &convert::HostClaims| host.lacks_only_landlock;
        if accepts && self.question.host.as_ref().is_some_and(lacks) {
            // Policy says that this is enough, and the launcher is told so with the profile.
            Arc::make_mut(&mut self.question).request.facts.sandbox = SandboxOffer::Full;
        }
        // The same of a sandbox without namespaces, as far as that can hold what the documents say.
        let accepts = sandbox
            .as_ref()
            .is_some_and(|sandbox| sandbox.accept_without_namespaces && sandbox.needs_namespaces().is_none());
        let lacks = |host: &convert::HostClaims| host.lacks_only_namespaces;
        if accepts && self.question.host.as_ref().is_some_and(lacks) {
            Arc::make_mut(&mut self.question).request.facts.sandbox = SandboxOffer::Full;
        }
        let decision = match compiled {
            Ok(compiled) if compiled.faults.is_empty() => {
                (self.judges.evaluator)(&compiled.ruleset, &self.question.request)
            }
            Ok(compiled) => self.evaluate_with_faults(&compiled.ruleset, &compiled.faults),
            Err(unusable) => failure(&self.question, &unusable.to_string()),
        };
        if let (Some(retry), Some(explanation)) = (&self.retry, &mut explanation) {
            retry.explain(&self.question.request, explanation);
        }
        let judged = judged_as(&self.ground(), self.question.clone(), decision);
        Judged {
            explanation,
            sandbox,
            in_force,
            ..judged
        }
    }

    /// A command that is tried in a sandbox: nobody judges it, the team may forbid it, and it is on record.
    fn try_out(self, tried: PolicyDocument) -> Judged {
        let (decision, sandbox) = trial::decide(&self.question, &self.policy, tried);
        let judged = judged_as(&self.ground(), self.question.clone(), decision);
        Judged { sandbox, ..judged }
    }

    fn ground(&self) -> Ground<'_> {
        Ground {
            permit: &self.permit,
            keys: &self.keys,
            retry: self.retry.as_deref(),
            policy_version: self.policy.version,
            arrival: self.arrival,
            input: Input::Redacted,
        }
    }

    /// Adds to the question what is known of its session, and what the classifier says.
    fn remember(&mut self, compiled: &Compiled) {
        let key = SessionKey::of(&self.permit, &self.question);
        let mode = self.question.request.mode;
        let started_in = {
            let begins = self.purpose == Purpose::Decide;
            self.runtime.block_on(self.sessions.start(&key, mode, begins))
        };
        Arc::make_mut(&mut self.question).request.session.started_in = started_in;
        let report = self.classify(&key, compiled);
        Arc::make_mut(&mut self.question).request.session.classifier = report;
    }

    /// What the classifier says. It is asked only if its word can decide, and its blocks are counted per session.
    fn classify(&self, key: &SessionKey, compiled: &Compiled) -> ClassifierReport {
        let classifier = &self.judges.classifier;
        if !classifier.is_configured() {
            return ClassifierReport::Off;
        }
        let matters = compiled.faults.is_empty() && classifier_matters(&compiled.ruleset, &self.question.request);
        if !matters {
            return ClassifierReport::NotAsked;
        }
        if let Some(pause) = self.sessions.pause(key) {
            return ClassifierReport::Paused(pause);
        }
        let call = call_digest(&self.question);
        if self.sessions.blocked_before(key, &call) {
            return ClassifierReport::BlockedBefore;
        }
        let asked = classifier.classify(self.question.clone());
        let answer = self
            .runtime
            .block_on(async { timeout_at(self.classify_until, asked).await });
        let verdict = match answer {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(failure)) => {
                return ClassifierReport::Failed {
                    reason: failure.to_string(),
                };
            }
            Err(_) => {
                return ClassifierReport::Failed {
                    reason: "it took too long".to_owned(),
                };
            }
        };
        if self.purpose == Purpose::Decide {
            match &verdict {
                ClassifierVerdict::Allow => self.sessions.allowed(key),
                ClassifierVerdict::Deny { .. } => self.sessions.blocked(key, call),
                ClassifierVerdict::Ask { .. } => {}
            }
        }
        ClassifierReport::Verdict(verdict)
    }

    /// A document of the host has faults, so what it denies or asks for is not known in full: no allow.
    fn evaluate_with_faults(&self, ruleset: &EffectiveRuleset, faults: &[String]) -> Decision {
        let mut request = self.question.request.clone();
        request.facts.failures.extend_from_slice(faults);
        let decision = (self.judges.evaluator)(ruleset, &request);
        if decision.verdict == Verdict::Allow {
            // The engine turns failures into an ask itself; this holds even if it forgot one.
            return failure(&self.question, &faults.join("; "));
        }
        decision
    }
}

/// What a judgement stands on beside question and decision.
struct Ground<'a> {
    permit: &'a DecidePermit,
    keys: &'a Keys,
    retry: Option<&'a Retry>,
    policy_version: u64,
    arrival: Instant,
    input: Input,
}

/// The judgement, its record and answer. All decisions pass through here, so that no retry gets around its rule.
fn judged_as(ground: &Ground<'_>, question: Arc<Question>, decision: Decision) -> Judged {
    let decision = match ground.retry {
        Some(retry) => retry.judge(&question.request, decision),
        None => decision,
    };
    let evidence = ground.retry.map(Retry::evidence);
    let ticket_issued = decision.verdict == Verdict::Allow && question.execution.is_some() && question.host.is_some();
    let circumstances = Circumstances {
        policy_version: ground.policy_version,
        evaluation_time: ground.arrival.elapsed(),
        ticket_issued,
        input: ground.input,
        retry_evidence: evidence,
    };
    let (record, answer) = audit::decision(ground.permit, ground.keys, &question, &decision, circumstances);
    Judged {
        question,
        verdict: decision.verdict,
        run_in_sandbox: decision.obligations.contains(&Obligation::RunInSandbox),
        sandbox: None,
        record,
        answer,
        explanation: None,
        in_force: None,
    }
}

/// A failure's answer: ask where a person is there, deny where none is.
fn failure(question: &Question, reason: &str) -> Decision {
    let request = &question.request;
    let kind = if request.nobody_can_be_asked() {
        FailureVerdict::Deny
    } else {
        FailureVerdict::Ask
    };
    Decision::failure(kind, &request.call.tool_name, reason)
}

/// The answer when the record could not be written: an ask or deny stands and says so, an allow does not stand.
fn unrecorded(
    question: &Question,
    verdict: Verdict,
    mut answer: v1::DecideResponse,
    reason: &str,
) -> v1::DecideResponse {
    let remark = format!("this decision is not recorded: {reason}");
    if verdict == Verdict::Allow {
        let withheld = format!("the call would be allowed, but nothing is allowed without a record, and {remark}");
        let mut failed = convert::decision_to_wire(&failure(question, &withheld));
        failed.policy_version = answer.policy_version;
        return failed;
    }
    answer.decision_id.clear();
    for message in [&mut answer.user_message, &mut answer.agent_message] {
        message.push_str("; ");
        message.push_str(&remark);
    }
    answer
}
