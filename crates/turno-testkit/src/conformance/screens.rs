//! Reads for a person's screen, page by page, and batches of lease commands.

use super::world::{World, holder, resource};
use turno::Turno;
use turno::access::{NewPerson, NewToken, PersonChange, Role};
use turno::core::id::Resource;
use turno::core::lease::{Action, Command, Lost, Outcome, Refused, State};
use turno::core::task::{self, Goods, Movement, NewLine, Status, TaskId};
use turno::lease::LeaseAnswer;
use turno::store::LeaseQuery;
use turno::task::{NewTask, TaskCursor, TaskEvent, TaskQuery};

super::cases![
    tasks_are_listed_with_their_locks_and_filtered_by_lock,
    a_page_of_tasks_has_a_cursor_if_more_follow,
    a_page_of_leases_has_a_cursor_if_more_follow,
    held_leases_are_listed_by_prefix_holder_and_cursor,
    the_history_of_a_lease_is_read_page_by_page,
    the_history_of_a_task_is_read_page_by_page,
    a_batch_answers_every_entry_in_order_and_a_bad_entry_affects_no_other,
    a_late_holder_learns_that_another_holder_has_the_lease,
    completing_or_cancelling_a_task_empties_its_waiting_line,
    disabling_a_user_removes_their_tickets,
    an_unused_lease_is_purged_and_its_next_fence_is_higher,
];

async fn ready(turno: &Turno) -> TaskId {
    let lines = vec![NewLine { movement: Movement::In, sku: "x".try_into().unwrap(), goods: Goods::Quantity(1) }];
    turno.create_task(holder("eva"), NewTask::titled("Recepción").lines(lines).ready()).await.unwrap().id()
}

fn claim() -> Action {
    Action::Claim { ttl: None, wait: false }
}

async fn take(turno: &Turno, id: TaskId, who: &str) -> State {
    turno.task_command(Some(id), holder(who), task::Action::Lease(claim())).await.unwrap().lease
}

async fn listed(turno: &Turno, query: TaskQuery) -> Vec<TaskId> {
    turno.tasks(query).await.unwrap().tasks.into_iter().map(|(task, _)| task.id).collect()
}

async fn tasks_are_listed_with_their_locks_and_filtered_by_lock(world: World) {
    let turno = &world.turno;
    let [free, expired, ana, luis] = [ready(turno).await, ready(turno).await, ready(turno).await, ready(turno).await];
    take(turno, expired, "ana").await;
    world.advance(200_000);
    let (of_ana, of_luis) = (take(turno, ana, "ana").await, take(turno, luis, "luis").await);
    let page = turno.tasks(TaskQuery { limit: 9, ..TaskQuery::default() }).await.unwrap();
    assert_eq!(page.now, of_luis.grant.as_ref().unwrap().locked_at);
    let found: Vec<_> = page.tasks.iter().map(|(task, lease)| (task.id, task.status, lease.live(page.now))).collect();
    let expected = [
        (luis, Status::Processing, of_luis.live(page.now)),
        (ana, Status::Processing, of_ana.live(page.now)),
        (expired, Status::Processing, None),
        (free, Status::Ready, None),
    ];
    assert_eq!(found, expected);
    let by = |locked, status| TaskQuery { locked: Some(locked), status, limit: 9, ..TaskQuery::default() };
    assert_eq!(listed(turno, by(true, None)).await, [luis, ana]);
    assert_eq!(listed(turno, by(false, None)).await, [expired, free]);
    assert_eq!(listed(turno, by(true, Some(Status::Processing))).await, [luis, ana]);
    assert_eq!(listed(turno, by(false, Some(Status::Processing))).await, [expired]);
    assert_eq!(listed(turno, by(true, Some(Status::Ready))).await, []);
    let (now, found) = turno.task_get(ana).await.unwrap();
    let (task, lease) = found.unwrap();
    assert_eq!((now, task.id, lease), (page.now, ana, of_ana));
    assert_eq!(turno.task_get(TaskId(luis.0 + 1)).await.unwrap(), (now, None));
}

async fn a_page_of_tasks_has_a_cursor_if_more_follow(world: World) {
    let turno = &world.turno;
    let mut made = Vec::new();
    for n in 0..6 {
        made.push(ready(turno).await);
        take(turno, made[n], "ana").await;
        // The tasks in the middle have an expired ownership that no command has ended yet.
        if n == 3 {
            world.advance(200_000);
        }
    }
    let query = |locked, before| TaskQuery { locked, before, limit: 2, ..TaskQuery::default() };
    let all = turno.tasks(query(None, None)).await.unwrap();
    assert_eq!(all.next, Some(made[4]));
    let second = turno.tasks(query(None, all.next)).await.unwrap();
    let third = turno.tasks(query(None, second.next)).await.unwrap();
    assert_eq!((second.next, third.tasks.len(), third.next), (Some(made[2]), 2, None), "the last page is exactly full");
    let locked = turno.tasks(query(Some(true), None)).await.unwrap();
    assert_eq!((locked.tasks.len(), locked.next.is_some()), (2, true), "more ownerships follow");
    let rest = turno.tasks(query(Some(true), locked.next)).await.unwrap();
    assert_eq!((rest.tasks.len(), rest.next), (0, None));
    let free = turno.tasks(query(Some(false), None)).await.unwrap();
    assert_eq!(free.tasks[0].0.id, made[3], "pages without a match are skipped");

    turno.add_person(NewPerson::new("ana", "Ana", Role::Editor).unwrap()).await.unwrap();
    let only = NewToken { resources: vec![made[1].resource().to_string()], ..NewToken::for_user("ana").unwrap() };
    let (_, secret) = turno.create_token(only).await.unwrap();
    let ana = turno.authenticate(&secret).await.unwrap();
    let seen = ana.tasks(query(None, None)).await.unwrap();
    assert_eq!(
        seen.tasks.iter().map(|(task, _)| task.id).collect::<Vec<_>>(),
        [made[1]],
        "tasks of other holders are skipped"
    );
}

async fn a_page_of_leases_has_a_cursor_if_more_follow(world: World) {
    let claim = |name: &str| world.turno.command(name, "ana", claim()).unwrap();
    for name in ["a:1", "a:2", "b:1"] {
        world.turno.lease_command(claim(name)).await.unwrap();
    }
    world.advance(31_000);
    for name in ["a:3", "a:4", "c:1"] {
        world.turno.lease_command(claim(name)).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut after: Option<Resource> = None;
    loop {
        let query = LeaseQuery { prefix: Some("a:".to_owned()), after, limit: 1, ..LeaseQuery::default() };
        let page = world.turno.leases(query).await.unwrap();
        seen.extend(page.states.iter().map(|state| state.resource.to_string()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["a:3", "a:4"], "expired leases are skipped, and the last page has no cursor");
}

async fn held_leases_are_listed_by_prefix_holder_and_cursor(world: World) {
    // In the order of their bytes, on both stores. `_` and `%` are no wildcards.
    let names = ["a", "job:", "job:1", "job:\u{10ffff}z", "job;", "k_%", "ká"];
    for (name, who) in names.iter().zip(["ana", "luis", "ana", "ana", "luis", "ana", "ana"]) {
        world.turno.lease_command(world.turno.command(name, who, claim()).unwrap()).await.unwrap();
    }
    let force = Action::ForceRelease { reason: "fin".to_owned(), fence: None };
    world.turno.lease_command(world.turno.command("a", "eva", force).unwrap()).await.unwrap();
    let list = async |query: LeaseQuery| {
        let page = world.turno.leases(LeaseQuery { limit: 9, ..query }).await.unwrap();
        page.states.iter().map(|state| state.resource.to_string()).collect::<Vec<_>>()
    };
    let prefix = |text: &str| LeaseQuery { prefix: Some(text.to_owned()), ..LeaseQuery::default() };
    assert_eq!(list(LeaseQuery::default()).await, names[1..], "a free lease is not listed");
    assert_eq!(list(prefix("job:")).await, names[1..4]);
    assert_eq!(list(prefix("job:\u{10ffff}")).await, names[3..4]);
    assert_eq!(list(prefix("k_")).await, names[5..6]);
    assert_eq!(list(prefix("k_%a")).await, names[..0]);
    assert_eq!(list(prefix("\u{10ffff}")).await, names[..0], "no name lies behind the prefix");
    let after = |name| LeaseQuery { after: Some(Resource::new(name).unwrap()), ..prefix("job:") };
    assert_eq!(list(after("job:")).await, names[2..4]);
    assert_eq!(list(after("a")).await, names[1..4]);
    assert_eq!(list(LeaseQuery { prefix: None, ..after("job:") }).await, names[2..]);
    assert_eq!(list(LeaseQuery { holder: Some(holder("luis").user), ..LeaseQuery::default() }).await, ["job:", "job;"]);
}

async fn the_history_of_a_lease_is_read_page_by_page(world: World) {
    let mut fences = Vec::new();
    for who in ["ana", "luis", "eva"] {
        let fence = world.claim(who).await.unwrap();
        world.advance(10);
        world.lease(who, Action::Release { fence, claim: None }).await.answer.unwrap();
        fences.push(fence);
    }
    let page = async |before| {
        let page = world.turno.lease_history(resource(), before, 2).await.unwrap();
        page.into_iter().map(|ending| ending.grant.fence).collect::<Vec<_>>()
    };
    assert_eq!(page(None).await, [fences[2], fences[1]]);
    assert_eq!(page(Some(fences[1])).await, [fences[0]]);
    assert_eq!(page(Some(fences[0])).await, []);
}

async fn the_history_of_a_task_is_read_page_by_page(world: World) {
    let id = ready(&world.turno).await;
    for who in ["ana", "luis", "eva"] {
        world.advance(10);
        let fence = take(&world.turno, id, who).await.grant.unwrap().fence;
        world.advance(10);
        let release = task::Action::Lease(Action::Release { fence, claim: None });
        world.turno.task_command(Some(id), holder(who), release).await.unwrap();
    }
    let whole = world.turno.task_history(id, None, 100).await.unwrap();
    assert_eq!((whole.events.len(), whole.next), (5, None), "created, processing and three ownerships");
    assert!(whole.events.is_sorted_by_key(TaskEvent::at));
    let mut pieces = Vec::new();
    let mut after: Option<TaskCursor> = None;
    loop {
        let page = world.turno.task_history(id, after, 2).await.unwrap();
        assert!(!page.events.is_empty());
        pieces.extend(page.events);
        // Parses the cursor from text, as an API client would send it.
        after = page.next.map(|next| next.to_string().parse().unwrap());
        if after.is_none() {
            break;
        }
    }
    assert_eq!(pieces, whole.events);
    assert!("nonsense".parse::<TaskCursor>().is_err());
}

async fn a_batch_answers_every_entry_in_order_and_a_bad_entry_affects_no_other(world: World) {
    let turno = &world.turno;
    let id = ready(turno).await;
    let command = |name: &str, who: &str, action| turno.command_of(Resource::new(name).unwrap(), holder(who), action);
    let forbidden = Command { policy: zero_ttl(), ..command("d", "ana", claim()) };
    let mut commands: Vec<Command> = (0..200).map(|n| command(&format!("r:{n}"), "ana", claim())).collect();
    commands.extend([
        command("a", "ana", claim()),
        command("a", "luis", claim()),
        command("task:999", "ana", claim()),
        forbidden,
        command(id.resource().as_str(), "ana", claim()),
        command("a", "ana", Action::ForceRelease { reason: "ya".to_owned(), fence: None }),
        command("a", "luis", claim()),
    ]);
    let answers = turno.lease_batch(commands).await;
    assert_eq!(answers.len(), 207);
    for (n, answer) in answers[..200].iter().enumerate() {
        let LeaseAnswer { answer, state, .. } = answer.as_ref().unwrap();
        assert_eq!(
            (answer, state.resource.as_str()),
            (&Ok(Outcome::Claimed { renewed: false }), format!("r:{n}").as_str())
        );
    }
    let answers: Vec<_> =
        answers[200..].iter().map(|answer| answer.as_ref().map(|answer| answer.answer.is_ok())).collect();
    assert!(matches!(answers[..], [Ok(true), Ok(false), Err(_), Err(_), Ok(true), Ok(true), Ok(true)]), "{answers:?}");
    let (_, found) = turno.task_get(id).await.unwrap();
    assert_eq!(found.unwrap().0.status, Status::Processing, "a batch entry for a task follows the task rules");
    let many = (0..1001).map(|n| command(&format!("x:{n}"), "ana", claim())).collect();
    let refused = turno.lease_batch(many).await;
    assert!(refused.len() == 1001 && refused.iter().all(Result::is_err));
    assert!(turno.lease_state(Resource::new("x:0").unwrap()).await.unwrap().1.grant.is_none());
}

fn zero_ttl() -> turno::core::lease::Policy {
    turno::core::lease::Policy { ttl: turno::core::time::Span::ZERO, ..Default::default() }
}

async fn a_late_holder_learns_that_another_holder_has_the_lease(world: World) {
    let fence = world.claim("ana").await.unwrap();
    world.advance(30_000);
    for who in ["luis", "eva"] {
        world.claim(who).await.unwrap();
        world.advance(30_000);
    }
    world.claim("leo").await.unwrap();
    let late = world.lease("ana", Action::Heartbeat { fence, idle: None, worked: false }).await;
    let Err(Refused::Lost { ending }) = &late.answer else { panic!("{:?}", late.answer) };
    let lost = Lost::describe(ending.as_ref(), &late.state, &holder("ana"), late.now);
    assert_eq!(
        (lost.reason, lost.cause, lost.by),
        ("taken", Some("no_heartbeat"), None),
        "the cause comes from the history"
    );
    assert_eq!(late.state.grant.unwrap().holder.user.as_str(), "leo", "the answer carries the current lease");
}

async fn completing_or_cancelling_a_task_empties_its_waiting_line(mut world: World) {
    let (done, cancelled) = (ready(&world.turno).await, ready(&world.turno).await);
    for id in [done, cancelled] {
        let fence = take(&world.turno, id, "ana").await.grant.unwrap().fence;
        let turn =
            world.turno.task_command(Some(id), holder("luis"), task::Action::Lease(Action::JoinLine)).await.unwrap();
        assert_eq!(turn.lease.line.len(), 1, "the control: the ticket exists");
        if id == done {
            let became = world.turno.task_finalize(id, holder("ana"), fence).await.unwrap();
            assert_eq!(became.answer.unwrap().status, Status::Completed);
        } else {
            let cancel = task::Action::Cancel { reason: None, keep_applied: false };
            world.turno.task_command(Some(id), holder("ana"), cancel).await.unwrap().answer.unwrap();
        }
    }
    world.reopen().await;
    for id in [done, cancelled] {
        let (_, state) = world.turno.lease_state(id.resource()).await.unwrap();
        assert_eq!((state.grant, state.offer, state.line), (None, None, Vec::new()), "{id}");
    }
}

async fn disabling_a_user_removes_their_tickets(world: World) {
    let turno = &world.turno;
    for who in ["ana", "luis"] {
        turno.add_person(NewPerson::new(who, who, Role::Editor).unwrap()).await.unwrap();
    }
    let on = |name: &str, who: &str, action| turno.lease_command(turno.command(name, who, action).unwrap());
    for name in ["a", "b"] {
        let fence = on(name, "eva", claim()).await.unwrap().state.grant.unwrap().fence;
        on(name, "ana", Action::JoinLine).await.unwrap().answer.unwrap();
        on(name, "luis", Action::JoinLine).await.unwrap().answer.unwrap();
        if name == "b" {
            let freed = on(name, "eva", Action::Release { fence, claim: None }).await.unwrap();
            assert_eq!(freed.state.offer.unwrap().to.user.as_str(), "ana");
        }
    }
    on("c", "eva", claim()).await.unwrap();
    on("c", "luis", Action::JoinLine).await.unwrap().answer.unwrap();
    let out = PersonChange { disabled: Some(true), ..PersonChange::default() };
    turno.change_person("ana".try_into().unwrap(), out).await.unwrap();
    let line = async |name: &str| {
        let (_, state) = turno.lease_state(Resource::new(name).unwrap()).await.unwrap();
        let line: Vec<String> = state.line.iter().map(|ticket| ticket.who.user.to_string()).collect();
        (line.concat(), state.offer.map(|offer| offer.to.user.to_string()))
    };
    assert_eq!(line("a").await, ("luis".to_owned(), None));
    assert_eq!(
        line("b").await,
        ("luis".to_owned(), Some("luis".to_owned())),
        "the lease is offered to the next ticket"
    );
    assert_eq!(line("c").await, ("luis".to_owned(), None));
}

async fn an_unused_lease_is_purged_and_its_next_fence_is_higher(mut world: World) {
    const QUARTER: i64 = 90 * 86_400_000;
    let on = |turno: &Turno, name: &str, who: &str, action| {
        let (turno, command) = (turno.clone(), turno.command(name, who, action).unwrap());
        async move { turno.lease_command(command).await.unwrap() }
    };
    let fence = on(&world.turno, "a", "ana", claim()).await.state.grant.unwrap().fence;
    on(&world.turno, "a", "ana", Action::Release { fence, claim: None }).await.answer.unwrap();
    on(&world.turno, "left", "ana", claim()).await.answer.unwrap();
    world.advance(1_000);
    let late = on(&world.turno, "b", "ana", claim()).await.state.grant.unwrap().fence;
    on(&world.turno, "b", "ana", Action::Release { fence: late, claim: None }).await.answer.unwrap();
    assert_eq!(world.turno.purge().await.unwrap().leases, 0);
    world.advance(QUARTER - 500);
    let held = on(&world.turno, "held", "luis", claim()).await.state.grant.unwrap().fence;
    assert_eq!(world.turno.purge().await.unwrap().leases, 1, "only a: b ended a second later");
    world.reopen().await;
    let (_, state) = world.turno.lease_state(Resource::new("a").unwrap()).await.unwrap();
    assert_eq!(state, State::unseen(Resource::new("a").unwrap()));
    let left = world.turno.lease_state(Resource::new("left").unwrap()).await.unwrap().1;
    assert!(left.ended.is_some(), "an expired ownership that was never ended stays");
    let newer = on(&world.turno, "a", "ana", claim()).await.state.grant.unwrap().fence;
    assert!(fence < newer && late < newer && held < newer, "L2");
    let late = on(&world.turno, "a", "ana", Action::Heartbeat { fence, idle: None, worked: false }).await;
    assert!(matches!(late.answer, Err(Refused::Lost { .. })), "the old fence stays stale");
}
