//! A person's tab, or a machine: claims, heartbeats, releases, overrides, waits in line, and forgets half of it.

use super::{Input, Next, Scene};
use crate::sim::message::{Ask, Reply};
use turno_core::id::Fence;
use turno_core::lease::{Action, Command, Holder, Outcome, Refused};
use turno_core::time::Span;

#[derive(Debug)]
pub(crate) struct Person {
    who: Holder,
    resource: usize,
    /// The fence and claim number that the client believes to hold.
    mine: Option<(Fence, i64)>,
    /// A fence and claim number that the client held before, for late calls.
    old: Option<(usize, Fence, i64)>,
    /// Whether the client waits in line.
    waits: bool,
    last: Option<Ask>,
}

impl Person {
    pub(crate) fn new(who: Holder) -> Person {
        Person { who, resource: 0, mine: None, old: None, waits: false, last: None }
    }

    pub(crate) fn step(&mut self, input: Input, scene: &mut Scene<'_>) -> Next {
        match input {
            Input::Wake => self.act(scene),
            Input::Answer(reply) => {
                self.learn(reply);
                self.rest(scene)
            }
            Input::NoAnswer => match self.last.clone() {
                Some(again) if scene.rng.percent(60) => Next::call(again),
                _ => Next::Sleep(scene.rng.between(10, 200)),
            },
        }
    }

    fn rest(&mut self, scene: &mut Scene<'_>) -> Next {
        let rng = &mut *scene.rng;
        Next::Sleep(match rng.below(100) {
            // Longer than any lease here lives: the tab was frozen and continues with its old state.
            0..4 => rng.between(400, 2_000),
            // Longer than a ticket lives: the person was away.
            4 if self.waits && rng.percent(20) => rng.between(30_000, 45_000),
            _ if self.waits => rng.between(40, 250),
            _ => rng.between(5, 160),
        })
    }

    fn act(&mut self, scene: &mut Scene<'_>) -> Next {
        let dice = scene.rng.below(100);
        let action = match self.mine {
            Some((fence, claim)) => match dice {
                0..55 => beat(fence, scene),
                55..67 => Action::Claim { ttl: None, wait: false },
                67..85 => {
                    let claim = scene.rng.percent(75).then_some(claim);
                    match scene.rng.below(4) {
                        // The page closed and may be reloaded, so any call may follow.
                        0 => Action::Leave { fence, claim, grace: Span(scene.rng.between(1, 120)) },
                        1 => Action::Keep { fence, claim, keep: Span(scene.rng.between(1, 1_050)) },
                        _ => Action::Release { fence, claim },
                    }
                }
                85..87 => Action::ForceClaim { reason: "mine".to_owned(), fence: None },
                87..89 => Action::JoinLine,
                89..92 => {
                    // The tab crashed, and the reopened tab knows nothing.
                    self.mine = None;
                    return self.rest(scene);
                }
                _ => return self.come_back_late(scene),
            },
            None if self.waits && dice < 35 => Action::RenewTicket,
            None if self.waits && dice < 70 => Action::JoinLine,
            None => {
                if !self.waits {
                    self.resource = scene.rng.below(scene.setup.resources.len());
                }
                match dice {
                    0..58 => Action::Claim {
                        ttl: scene.rng.percent(30).then(|| Span(scene.rng.between(90, 1_050))),
                        wait: scene.rng.percent(40),
                    },
                    58..68 => Action::JoinLine,
                    68..74 => Action::LeaveLine,
                    74..79 => Action::RequestRelease { message: None },
                    79..83 => Action::ForceClaim { reason: "urgent".to_owned(), fence: None },
                    83..87 => Action::ForceRelease { reason: "stuck".to_owned(), fence: None },
                    _ => return self.come_back_late(scene),
                }
            }
        };
        self.call(self.resource, action, scene)
    }

    /// Makes a call about an ownership that ended long ago or never existed.
    fn come_back_late(&mut self, scene: &mut Scene<'_>) -> Next {
        let (resource, fence, claim) = match self.old {
            Some(old) if scene.rng.percent(90) => old,
            _ => (scene.rng.below(scene.setup.resources.len()), Fence(scene.rng.between(1, 50)), 1),
        };
        let action = if scene.rng.percent(50) {
            beat(fence, scene)
        } else {
            Action::Release { fence, claim: scene.rng.percent(50).then_some(claim) }
        };
        let (resource_of_old, action) = (resource, action);
        let ask = self.ask(resource_of_old, action, scene);
        self.last = None;
        Next::call(ask)
    }

    fn call(&mut self, resource: usize, action: Action, scene: &Scene<'_>) -> Next {
        let ask = self.ask(resource, action, scene);
        self.last = Some(ask.clone());
        Next::call(ask)
    }

    fn ask(&self, resource: usize, action: Action, scene: &Scene<'_>) -> Ask {
        let (name, policy) = &scene.setup.resources[resource];
        Ask::Lease(Command { resource: name.clone(), who: self.who.clone(), via: None, policy: policy.clone(), action })
    }

    fn learn(&mut self, reply: Reply) {
        let Reply::Lease { answer, view } = reply else {
            return;
        };
        match answer {
            Ok(Outcome::Claimed { .. }) => {
                let grant = view.grant.as_ref();
                self.mine = grant.map(|grant| (grant.fence, grant.claim));
                self.old = grant.map(|grant| (self.resource, grant.fence, grant.claim));
                self.waits = false;
            }
            Ok(Outcome::Released { .. } | Outcome::ForceReleased { .. }) | Err(Refused::Lost { .. }) => {
                self.mine = None
            }
            Ok(Outcome::InLine { .. })
            | Err(Refused::HeldBy { position: Some(_), .. } | Refused::OfferedTo { position: Some(_), .. }) => {
                self.waits = true
            }
            Ok(Outcome::LeftLine) => self.waits = false,
            _ => {}
        }
    }
}

fn beat(fence: Fence, scene: &mut Scene<'_>) -> Action {
    let rng = &mut *scene.rng;
    Action::Heartbeat {
        fence,
        idle: rng.percent(95).then(|| Span(if rng.percent(75) { 0 } else { rng.between(100, 900) })),
        worked: rng.percent(25),
    }
}
