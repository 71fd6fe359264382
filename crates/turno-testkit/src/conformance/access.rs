//! Access: permissions, tokens, sessions and roles take effect from the next request on, on every instance.

use super::world::{World, draft, holder, queue_name};
use std::time::Duration;
use turno::access::{NewPerson, NewToken, PersonChange};
use turno::core::access::{ChangeRefused, Denied, Permission, Role};
use turno::core::event::{Topic, Topics};
use turno::core::id::{Instance, Resource, UserId};
use turno::core::lease::{Action, Cause, Command, Holder, Outcome, Refused};
use turno::core::queue::{Act, Kind, Policy, SettleOutcome};
use turno::core::task::{self, Goods, Movement, NewLine, TaskId};
use turno::core::time::Span;
use turno::event::{Live, Subscription};
use turno::lease::LeaseAnswer;
use turno::queue::{Claim, Job, Settlement};
use turno::store::{AuditQuery, LeaseQuery};
use turno::task::NewTask;
use turno::{Error, Misuse, Turno};

super::cases![
    a_token_has_only_rights_in_both_its_scope_and_its_owners_role,
    without_the_permission_nothing_changes,
    a_revoked_token_is_dead_from_the_next_request_on_every_instance,
    a_changed_role_works_from_the_next_request_on_every_instance,
    a_token_that_expires_is_dead_at_that_instant,
    the_last_administrator_stays_when_two_are_disabled_at_once,
    disabling_a_user_ends_their_leases,
    a_session_can_act_for_a_user_that_turno_does_not_know,
    revoking_a_token_ends_the_sessions_it_minted,
    an_override_on_behalf_of_a_user_audits_both_users,
    a_machine_must_name_its_instance,
    a_token_for_some_resources_reaches_no_others,
    people_and_tokens_are_listed_without_secrets,
    a_session_can_lock_and_finalize_its_task,
    a_caller_cannot_submit_an_expel_command,
    disabling_a_user_ends_the_sessions_they_minted,
    a_listener_gets_only_permitted_events_and_only_while_permitted,
    a_worker_whose_token_is_revoked_stops_with_an_error,
    a_caller_cannot_choose_the_times_of_a_lease,
    a_delivery_belongs_to_the_account_that_claimed_it,
];

pub(super) fn user(id: &str) -> UserId {
    UserId::new(id).unwrap()
}

fn resource(name: &str) -> Resource {
    Resource::new(name).unwrap()
}

/// Adds a person and returns a handle authenticated as that person.
pub(super) async fn person(turno: &Turno, id: &str, role: Role) -> Turno {
    turno.add_person(NewPerson::new(id, &format!("«{id}»"), role).unwrap()).await.unwrap();
    let (_, secret) = turno.create_token(NewToken::for_user(id).unwrap()).await.unwrap();
    turno.authenticate(&secret).await.unwrap()
}

fn named(turno: &Turno, name: &str, action: Action) -> Command {
    turno.command_of(resource(name), turno.holder(None), action)
}

async fn claim(turno: &Turno, name: &str) -> Result<LeaseAnswer, Error> {
    turno.lease_command(named(turno, name, Action::Claim { ttl: None, wait: false })).await
}

fn missing(permission: Permission) -> Error {
    Error::Denied(Denied::Missing(permission))
}

const OUT: Error = Error::Denied(Denied::Unauthenticated);

async fn a_token_has_only_rights_in_both_its_scope_and_its_owners_role(world: World) {
    person(&world.turno, "ana", Role::Editor).await;
    let scope = [Permission::QueuesProduce].into_iter().collect();
    let narrow = NewToken { scope: Some(scope), ..NewToken::for_user("ana").unwrap() };
    let (_, secret) = world.turno.create_token(narrow).await.unwrap();
    let ana = world.turno.authenticate(&secret).await.unwrap();
    assert_eq!(claim(&ana, "r").await, Err(missing(Permission::LeasesUse)));
    world.queue(Policy::for_kind(Kind::Inbox)).await;
    let queue = ana.queue(queue_name()).await.unwrap();
    assert!(queue.enqueue(vec![draft("k", "1")]).await.is_ok());
    let too_much =
        NewToken { scope: Some([Permission::AuditRead].into_iter().collect()), ..NewToken::for_user("ana").unwrap() };
    let refused = world.turno.create_token(too_much).await;
    assert!(matches!(refused, Err(Error::Refused(ChangeRefused::Invalid(_)))), "{refused:?}");
    assert_eq!(world.turno.authenticate("turno_0000").await.unwrap_err(), OUT);
}

async fn without_the_permission_nothing_changes(world: World) {
    let root = &world.turno;
    let (viewer, editor) = (person(root, "vera", Role::Viewer).await, person(root, "ana", Role::Editor).await);
    world.queue(Policy::for_kind(Kind::Inbox)).await;
    let held = claim(&editor, "r").await.unwrap();
    let fence = held.state.grant.as_ref().unwrap().fence;
    let needed = missing(Permission::LeasesUse);
    for action in [
        Action::Claim { ttl: None, wait: true },
        Action::Heartbeat { fence, idle: None, worked: true },
        Action::Release { fence, claim: None },
        Action::RequestRelease { message: None },
        Action::JoinLine,
    ] {
        assert_eq!(viewer.lease_command(named(&viewer, "r", action)).await, Err(needed.clone()));
    }
    let force = || Action::ForceRelease { reason: "x".to_owned(), fence: None };
    assert_eq!(editor.lease_command(named(&editor, "r", force())).await, Err(missing(Permission::LocksOverride)));
    let queue = viewer.queue(queue_name()).await.unwrap();
    assert_eq!(queue.enqueue(vec![draft("k", "1")]).await, Err(missing(Permission::QueuesProduce)));
    assert_eq!(queue.claim(Claim::by("w")).await, Err(missing(Permission::QueuesConsume)));
    let queue = editor.queue(queue_name()).await.unwrap();
    assert_eq!(queue.pause().await, Err(missing(Permission::QueuesManage)));
    let change = || Policy { max_attempts: 3, ..Policy::for_kind(Kind::Inbox) };
    assert_eq!(editor.put_queue(queue_name(), change()).await.unwrap_err(), missing(Permission::QueuesManage));
    assert_eq!(
        editor.audit(AuditQuery { limit: 1, ..AuditQuery::default() }).await,
        Err(missing(Permission::AuditRead))
    );
    assert!(editor.people(None, 10).await.is_err());
    let task = viewer.task_command(None, viewer.holder(None), NewTask::titled("t").lines(Vec::new()).into()).await;
    assert_eq!(task.unwrap_err(), missing(Permission::InventoryManage));
    let foreign = editor.lease_command(editor.command_of(resource("q"), holder("eva"), Action::JoinLine)).await;
    assert!(
        matches!(foreign, Err(Error::Misuse(Misuse::OtherHolder { .. }))),
        "a caller cannot act in another user's name"
    );

    let (_, state) = root.lease_state(resource("r")).await.unwrap();
    assert_eq!(state, held.state, "the lock is as it was");
    let row = root.queue(queue_name()).await.unwrap().row().await.unwrap();
    assert!(!row.paused && row.policy.max_attempts == 20);
    let actions: Vec<String> = root
        .audit(AuditQuery { after: Some(0), limit: 100, ..AuditQuery::default() })
        .await
        .unwrap()
        .into_iter()
        .map(|entry| entry.action)
        .collect();
    assert_eq!(
        actions,
        ["user_add", "token_create", "user_add", "token_create", "queue_put"],
        "nothing was overridden"
    );
}

async fn a_revoked_token_is_dead_from_the_next_request_on_every_instance(world: World) {
    person(&world.turno, "ana", Role::Editor).await;
    let (token, secret) = world.turno.create_token(NewToken::for_user("ana").unwrap()).await.unwrap();
    let other = world.instance().await;
    let (here, there) = (world.turno.authenticate(&secret).await.unwrap(), other.authenticate(&secret).await.unwrap());
    let held = claim(&there, "r").await.unwrap().state.grant.unwrap();
    assert!(claim(&here, "s").await.is_ok());
    world.turno.revoke_token(&token.id).await.unwrap();
    for ana in [&here, &there] {
        assert_eq!(claim(ana, "t").await, Err(OUT), "a command");
        let beat = Action::Heartbeat { fence: held.fence, idle: None, worked: false };
        assert_eq!(ana.lease_command(named(ana, "r", beat)).await, Err(OUT), "a heartbeat, which needs no lock");
        assert_eq!(ana.lease_state(resource("r")).await.unwrap_err(), OUT, "a read");
    }
    assert_eq!(other.authenticate(&secret).await.unwrap_err(), OUT);
    let (_, state) = world.turno.lease_state(resource("t")).await.unwrap();
    assert_eq!(state.grant, None);
}

async fn a_changed_role_works_from_the_next_request_on_every_instance(world: World) {
    person(&world.turno, "ana", Role::Editor).await;
    let (_, secret) = world.turno.create_token(NewToken::for_user("ana").unwrap()).await.unwrap();
    let other = world.instance().await;
    let ana = other.authenticate(&secret).await.unwrap();
    assert!(claim(&ana, "r").await.is_ok());
    let role = |role| PersonChange { role: Some(role), ..PersonChange::default() };
    world.turno.change_person(user("ana"), role(Role::Viewer)).await.unwrap();
    assert_eq!(claim(&ana, "s").await, Err(missing(Permission::LeasesUse)));
    world.turno.change_person(user("ana"), role(Role::Admin)).await.unwrap();
    assert!(claim(&other.authenticate(&secret).await.unwrap(), "s").await.is_ok());
    assert!(ana.people(None, 10).await.is_ok(), "the handle that was refused before works again");
}

async fn a_token_that_expires_is_dead_at_that_instant(world: World) {
    person(&world.turno, "ana", Role::Editor).await;
    let new = NewToken { expires_in: Some(Duration::from_secs(5)), ..NewToken::for_user("ana").unwrap() };
    let (_, secret) = world.turno.create_token(new).await.unwrap();
    let ana = world.turno.authenticate(&secret).await.unwrap();
    world.advance(4_999);
    assert!(claim(&ana, "r").await.is_ok());
    world.advance(1);
    assert_eq!(claim(&ana, "r").await, Err(OUT));
    assert_eq!(world.turno.authenticate(&secret).await.unwrap_err(), OUT);
}

async fn the_last_administrator_stays_when_two_are_disabled_at_once(world: World) {
    let other = world.instance().await;
    person(&world.turno, "eva", Role::Admin).await;
    person(&world.turno, "leo", Role::Admin).await;
    let out = || PersonChange { disabled: Some(true), ..PersonChange::default() };
    let (one, two) =
        tokio::join!(world.turno.change_person(user("eva"), out()), other.change_person(user("leo"), out()),);
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
    let refused = if one.is_ok() { two } else { one };
    assert!(matches!(refused, Err(Error::Refused(ChangeRefused::LastAdmin(_)))));
    let left = world.turno.people(None, 10).await.unwrap().into_iter().filter(|person| !person.disabled);
    assert_eq!(left.count(), 1);
}

async fn disabling_a_user_ends_their_leases(world: World) {
    let ana = person(&world.turno, "ana", Role::Editor).await;
    person(&world.turno, "eva", Role::Admin).await;
    let grant = claim(&ana, "r").await.unwrap().state.grant.unwrap();
    claim(&world.turno, "s").await.unwrap();
    let out = PersonChange { disabled: Some(true), ..PersonChange::default() };
    world.turno.change_person(user("ana"), out).await.unwrap();
    let (_, state) = world.turno.lease_state(resource("r")).await.unwrap();
    let ending = state.ended.unwrap();
    assert_eq!((state.grant, ending.grant.fence, ending.cause), (None, grant.fence, Cause::UserDisabled));
    assert_eq!(claim(&ana, "r").await, Err(OUT));
    let left = world.turno.leases(LeaseQuery { limit: 10, ..LeaseQuery::default() }).await.unwrap().states;
    assert_eq!(
        left.iter().map(|state| state.resource.as_str()).collect::<Vec<_>>(),
        ["s"],
        "other holders keep their leases"
    );
}

/// Returns a machine's handle that may mint sessions, and the id of its token.
async fn portal(world: &World) -> (Turno, String) {
    if world.turno.person(user("eva")).await.unwrap().is_none() {
        world.turno.add_person(NewPerson::new("eva", "Eva", Role::Admin).unwrap()).await.unwrap();
    }
    let scope = [Permission::SessionsMint].into_iter().collect();
    let new = NewToken { machine: true, scope: Some(scope), ..NewToken::for_user("eva").unwrap() };
    let (token, secret) = world.turno.create_token(new).await.unwrap();
    (world.turno.authenticate(&secret).await.unwrap(), token.id)
}

pub(super) fn stranger() -> NewToken {
    NewToken { name: Some("Paco Ñ".to_owned()), ..NewToken::for_user("laravel-31").unwrap() }
}

async fn a_session_can_act_for_a_user_that_turno_does_not_know(world: World) {
    let (portal, _) = portal(&world).await;
    let (_, secret) = portal.mint_session(stranger(), Duration::from_secs(900)).await.unwrap();
    let paco = world.turno.authenticate(&secret).await.unwrap();
    let holder = claim(&paco, "r").await.unwrap().state.grant.unwrap().holder;
    assert_eq!((holder.user.as_str(), holder.name.as_str()), ("laravel-31", "Paco Ñ"));
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await.row().await.unwrap().name.clone();
    let refused = paco.queue(queue.clone()).await.err();
    assert_eq!(refused, Some(Error::Denied(Denied::OtherQueue(queue))), "a session without queues reaches none");
    world.advance(900_000);
    assert_eq!(claim(&paco, "s").await, Err(OUT));
    let long = portal.mint_session(stranger(), Duration::from_secs(901)).await;
    assert!(matches!(long, Err(Error::Refused(ChangeRefused::Invalid(_)))));
    let more = NewToken { scope: Some([Permission::LocksOverride].into_iter().collect()), ..stranger() };
    let refused = portal.mint_session(more, Duration::from_secs(9)).await;
    assert_eq!(refused, Err(Error::Refused(ChangeRefused::MoreThanHeld(Permission::LocksOverride))));
}

async fn revoking_a_token_ends_the_sessions_it_minted(world: World) {
    let (portal, id) = portal(&world).await;
    let (_, secret) = portal.mint_session(stranger(), Duration::from_secs(900)).await.unwrap();
    let paco = world.turno.authenticate(&secret).await.unwrap();
    assert!(claim(&paco, "r").await.is_ok());
    world.turno.revoke_token(&id).await.unwrap();
    assert_eq!(claim(&paco, "r").await, Err(OUT));
}

async fn an_override_on_behalf_of_a_user_audits_both_users(world: World) {
    let eva = person(&world.turno, "eva", Role::Admin).await;
    world.turno.add_person(NewPerson::new("leo", "Leo", Role::Admin).unwrap()).await.unwrap();
    let as_leo = eva.on_behalf_of(user("leo")).await.unwrap();
    claim(&world.turno, "r").await.unwrap();
    let force = Action::ForceClaim { reason: "urge".to_owned(), fence: None };
    let taken = as_leo.lease_command(named(&as_leo, "r", force)).await.unwrap();
    assert_eq!(taken.answer, Ok(Outcome::Claimed { renewed: false }));
    assert_eq!(taken.state.grant.unwrap().holder.user, user("leo"));
    let query = AuditQuery { action: Some("lock_force_claim".to_owned()), limit: 9, ..AuditQuery::default() };
    let entries = eva.audit(query).await.unwrap();
    let actors: Vec<_> = entries.iter().map(|entry| (entry.actor.user.clone(), entry.actor.via.clone())).collect();
    assert_eq!(actors, [(user("leo"), Some(user("eva")))]);
    let by_eva = AuditQuery { actor: Some(user("eva")), limit: 9, ..AuditQuery::default() };
    assert_eq!(eva.audit(by_eva).await.unwrap().len(), 1, "the entry is found under either user");
    let ana = person(&world.turno, "ana", Role::Editor).await;
    assert_eq!(ana.on_behalf_of(user("leo")).await.unwrap_err(), missing(Permission::SessionsMint));
}

async fn a_machine_must_name_its_instance(world: World) {
    world.turno.add_person(NewPerson::new("robot", "Robot", Role::Editor).unwrap()).await.unwrap();
    let new = NewToken { machine: true, ..NewToken::for_user("robot").unwrap() };
    let (_, secret) = world.turno.create_token(new).await.unwrap();
    let robot = world.turno.authenticate(&secret).await.unwrap();
    assert_eq!(claim(&robot, "r").await, Err(Error::InstanceRequired));
    let as_instance = |name: &str| {
        let who: Holder = robot.holder(Some(Instance::new(name).unwrap()));
        robot.command_of(resource("r"), who, Action::Claim { ttl: None, wait: false })
    };
    assert!(robot.lease_command(as_instance("a")).await.unwrap().answer.is_ok());
    let second = robot.lease_command(as_instance("b")).await.unwrap().answer;
    assert!(matches!(second, Err(Refused::HeldBy { .. })), "two processes of one account are two holders");
}

async fn a_token_for_some_resources_reaches_no_others(world: World) {
    person(&world.turno, "ana", Role::Editor).await;
    let new = NewToken { resources: vec!["caja:".to_owned()], ..NewToken::for_user("ana").unwrap() };
    let (_, secret) = world.turno.create_token(new).await.unwrap();
    let ana = world.turno.authenticate(&secret).await.unwrap();
    assert!(claim(&ana, "caja:1").await.is_ok());
    let other = Err(Error::Denied(Denied::OtherResource(resource("task:1"))));
    assert_eq!(claim(&ana, "task:1").await, other);
    assert!(ana.lease_state(resource("r")).await.is_err());
    claim(&world.turno, "secreto").await.unwrap();
    let seen = ana.leases(LeaseQuery { limit: 10, ..LeaseQuery::default() }).await.unwrap().states;
    assert_eq!(seen.iter().map(|state| state.resource.as_str()).collect::<Vec<_>>(), ["caja:1"]);
}

async fn people_and_tokens_are_listed_without_secrets(mut world: World) {
    let ana = person(&world.turno, "ana", Role::Editor).await;
    person(&world.turno, "eva", Role::Admin).await;
    let (token, secret) = world.turno.create_token(NewToken::for_user("eva").unwrap()).await.unwrap();
    world.reopen().await;
    let people = world.turno.people(None, 10).await.unwrap();
    let listed: Vec<_> = people.iter().map(|person| (person.id.as_str(), person.name.as_str(), person.role)).collect();
    assert_eq!(listed, [("ana", "«ana»", Role::Editor), ("eva", "«eva»", Role::Admin)]);
    assert_eq!(world.turno.people(Some(user("ana")), 10).await.unwrap().len(), 1);
    let tokens = world.turno.tokens(None, None, 10).await.unwrap();
    assert_eq!(tokens.len(), 3);
    assert!(tokens.contains(&token));
    assert!(!format!("{tokens:?}").contains(&secret[10..]), "only the hash of a secret is stored");
    let own = ana.tokens(Some(user("eva")), None, 10).await.unwrap();
    assert!(
        own.iter().all(|token| token.user == user("ana")) && own.len() == 1,
        "only the caller's own tokens are listed"
    );
}

async fn a_caller_cannot_submit_an_expel_command(world: World) {
    let (ana, eva) = (person(&world.turno, "ana", Role::Editor).await, person(&world.turno, "eva", Role::Admin).await);
    let lines = vec![NewLine { movement: Movement::In, sku: "x".try_into().unwrap(), goods: Goods::Quantity(1) }];
    let id = world.turno.create_task(holder("eva"), NewTask::titled("t").lines(lines).ready()).await.unwrap().id();
    claim(&ana, id.resource().as_str()).await.unwrap();
    let expel = || Action::Expel { user: user("ana") };
    for turno in [&ana, &eva, &world.turno] {
        assert!(matches!(
            turno.lease_command(named(turno, id.resource().as_str(), expel())).await,
            Err(Error::Misuse(Misuse::Expel))
        ));
        let as_task = turno.task_command(Some(id), turno.holder(None), task::Action::Lease(expel())).await;
        assert!(matches!(as_task, Err(Error::Misuse(Misuse::Expel))));
    }
    let force = task::Action::Lease(Action::ForceRelease { reason: "x".to_owned(), fence: None });
    let refused = ana.task_command(Some(id), ana.holder(None), force).await;
    assert_eq!(refused.unwrap_err(), missing(Permission::LocksOverride));
    let (now, state) = world.turno.lease_state(id.resource()).await.unwrap();
    assert_eq!(state.live(now).unwrap().holder.user, user("ana"));
}

async fn disabling_a_user_ends_the_sessions_they_minted(world: World) {
    let (portal, _) = portal(&world).await;
    person(&world.turno, "leo", Role::Admin).await;
    let (_, secret) = portal.mint_session(stranger(), Duration::from_secs(900)).await.unwrap();
    let paco = world.turno.authenticate(&secret).await.unwrap();
    assert!(claim(&paco, "r").await.is_ok());
    let out = PersonChange { disabled: Some(true), ..PersonChange::default() };
    world.turno.change_person(user("eva"), out).await.unwrap();
    assert_eq!(claim(&paco, "s").await, Err(OUT));
    assert_eq!(world.instance().await.authenticate(&secret).await.unwrap_err(), OUT);
}

async fn a_listener_gets_only_permitted_events_and_only_while_permitted(world: World) {
    let eva = person(&world.turno, "eva", Role::Admin).await;
    person(&world.turno, "leo", Role::Admin).await;
    let new = NewToken { resources: vec!["caja:".to_owned()], ..NewToken::for_user("eva").unwrap() };
    let (token, secret) = world.turno.create_token(new).await.unwrap();
    let confined = world.turno.authenticate(&secret).await.unwrap();
    let mut all = eva.subscribe(Topics::ALL, None).await.unwrap();
    let mut some = confined.subscribe(Topic::Leases.into(), None).await.unwrap();
    claim(&world.turno, "secreto").await.unwrap();
    claim(&world.turno, "caja:7").await.unwrap();
    assert_eq!(&*lease_event(&mut some).await.unwrap(), "caja:7", "the token is restricted to `caja:`");
    assert_eq!(&*lease_event(&mut all).await.unwrap(), "secreto");
    world.turno.revoke_token(&token.id).await.unwrap();
    assert_eq!(lease_event(&mut some).await, Err(OUT), "the subscription ends with the token");
    let role = PersonChange { role: Some(Role::Viewer), ..PersonChange::default() };
    world.turno.change_person(user("eva"), role).await.unwrap();
    force_and_claim(&world.turno).await;
    let mut audits = 0;
    loop {
        match tokio::time::timeout(std::time::Duration::from_secs(20), all.next())
            .await
            .expect("an event arrives within 20 seconds")
            .unwrap()
        {
            Live::Event { event, .. } if event.topic == Topic::Audit => {
                assert_ne!(event.detail.as_deref(), Some("lock_force_release"), "a viewer gets no audit events");
                audits += 1;
            }
            Live::Event { event, .. } if &*event.resource == "caja:last" => break,
            _ => {}
        }
    }
    assert!(audits <= 3, "only entries from before the role change: {audits}");
}

/// Makes an override, which is audited, and then a claim, which every listener hears.
async fn force_and_claim(turno: &Turno) {
    let force = Action::ForceRelease { reason: "x".to_owned(), fence: None };
    turno.lease_command(named(turno, "caja:7", force)).await.unwrap();
    claim(turno, "caja:last").await.unwrap();
}

/// Returns the resource of the next lease event.
async fn lease_event(listener: &mut Subscription) -> Result<std::sync::Arc<str>, Error> {
    loop {
        let heard = tokio::time::timeout(std::time::Duration::from_secs(20), listener.next()).await;
        match heard.expect("an event arrives within 20 seconds")? {
            Live::Event { event, .. } if event.topic == Topic::Leases => return Ok(event.resource.clone()),
            _ => {}
        }
    }
}

async fn a_worker_whose_token_is_revoked_stops_with_an_error(world: World) {
    person(&world.turno, "robot", Role::Editor).await;
    let (token, secret) = world.turno.create_token(NewToken::for_user("robot").unwrap()).await.unwrap();
    let robot = world.turno.authenticate(&secret).await.unwrap();
    let trusted = world.queue(Policy::for_kind(Kind::Inbox)).await;
    let queue = robot.queue(queue_name()).await.unwrap();
    let (done, mut heard) = tokio::sync::mpsc::channel(4);
    let worker = queue.worker(move |job: Job<serde_json::Value>| {
        let done = done.clone();
        async move {
            let _ = done.send(job.id).await;
            Ok(())
        }
    });
    let running = tokio::spawn(worker.run_until(std::future::pending::<()>()));
    trusted.enqueue(vec![draft("k", "1")]).await.unwrap();
    heard.recv().await.expect("the worker handles the first item");
    world.turno.revoke_token(&token.id).await.unwrap();
    trusted.enqueue(vec![draft("k", "2")]).await.unwrap();
    let ended = tokio::time::timeout(std::time::Duration::from_secs(20), running)
        .await
        .expect("the worker stops within 20 seconds")
        .unwrap();
    assert_eq!(ended, Err(OUT));
}

async fn a_caller_cannot_choose_the_times_of_a_lease(world: World) {
    let ana = person(&world.turno, "ana", Role::Editor).await;
    let mut command = named(&ana, "r", Action::Claim { ttl: None, wait: false });
    command.policy.ttl = Span::from_secs(86_400);
    command.policy.max_ttl = Span::from_secs(86_400);
    let grant = ana.lease_command(command).await.unwrap().state.grant.unwrap();
    assert_eq!(grant.ttl, Span::from_secs(30), "the ttl is the policy's");
}

async fn a_session_can_lock_and_finalize_its_task(world: World) {
    let (portal, _) = portal(&world).await;
    let lines = vec![NewLine { movement: Movement::In, sku: "x".try_into().unwrap(), goods: Goods::Quantity(1) }];
    let made =
        world.turno.task_command(None, holder("eva"), NewTask::titled("t").lines(lines).ready().into()).await.unwrap();
    let id: TaskId = made.task.unwrap().id;
    let new = NewToken { resources: vec![id.resource().to_string()], ..stranger() };
    let (_, secret) = portal.mint_session(new, Duration::from_secs(60)).await.unwrap();
    let paco = world.turno.authenticate(&secret).await.unwrap();
    let fence = claim(&paco, id.resource().as_str()).await.unwrap().state.grant.unwrap().fence;
    let done = paco.task_finalize(id, paco.holder(None), fence).await.unwrap();
    assert_eq!(done.answer.unwrap().status, task::Status::Completed);
    assert!(paco.task_get(TaskId(id.0 + 1)).await.is_err(), "the session is restricted to one task");
}

async fn a_delivery_belongs_to_the_account_that_claimed_it(world: World) {
    let (a, b) = (world.turno.clone(), world.instance().await);
    let queue = a.put_queue("mails", Policy::for_kind(Kind::Lane).window(Duration::ZERO)).await.unwrap();
    queue.enqueue(vec![draft("k", "m-1"), draft("k", "m-2")]).await.unwrap();
    let (ana, leo) = (person(&a, "ana", Role::Editor).await, person(&b, "leo", Role::Editor).await);
    let eva = person(&b, "eva", Role::Admin).await;
    let (of_ana, of_leo) = (ana.queue("mails").await.unwrap(), leo.queue("mails").await.unwrap());
    let got = of_ana.claim(Claim::by("w")).await.unwrap().remove(0).reference;
    let acts = [Settlement::ack(got), Settlement::fail(got, "x"), Settlement::give_back(got)];
    for act in acts.into_iter().chain([Settlement { reference: got, act: Act::Beat }]) {
        let answer = of_leo.settle(vec![act.clone()]).await.unwrap().remove(0);
        assert_eq!((answer.outcome, answer.repeated), (SettleOutcome::Stale, false), "{act:?}");
    }
    // A manager on another instance settles it. The worker's later repeat and the manager's get the same answer.
    let of_eva = eva.queue("mails").await.unwrap();
    assert_eq!(of_eva.ack([got]).await.unwrap()[0].outcome, SettleOutcome::Acked);
    assert!(of_ana.ack([got]).await.unwrap()[0].repeated && of_eva.ack([got]).await.unwrap()[0].repeated);
    assert_eq!(of_leo.ack([got]).await.unwrap()[0].outcome, SettleOutcome::Stale, "the answer is not leo's");
    let query = AuditQuery { action: Some("delivery_settle".to_owned()), limit: 9, ..AuditQuery::default() };
    let entries = a.audit(query).await.unwrap();
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!((entries[0].actor.user.as_str(), &*entries[0].resource), ("eva", "mails"));
}
