//! Idempotency: kept answers, and tasks that store the key they were created under.

use super::world::{World, holder};
use turno::access::{NewPerson, NewToken, Role};
use turno::core::audit::Hash;
use turno::core::task::{Goods, Movement, NewLine, Outcome, TaskId};
use turno::core::time::Span;
use turno::id::Once;
use turno::task::{NewTask, TaskAnswer, TaskQuery};
use turno::{Answer, Error, Misuse, Turno};

super::cases![
    the_first_answer_under_a_key_is_kept_for_a_day,
    one_of_several_concurrent_answers_is_kept,
    only_the_embedding_program_can_keep_answers,
    a_task_is_created_once_per_key_also_after_answers_are_purged,
    concurrent_creations_under_one_key_make_one_task,
];

const DAY: i64 = 86_400_000;

fn answer(number: u8) -> Answer {
    Answer { fingerprint: Hash([number; 32]), status: 200 + u16::from(number), body: format!("«{number}» ñ") }
}

async fn the_first_answer_under_a_key_is_kept_for_a_day(mut world: World) {
    assert_eq!(world.turno.answer("POST /v1/tasks ana", "k").await, Ok(None));
    assert_eq!(world.turno.keep_answer("POST /v1/tasks ana", "k", answer(1)).await, Ok(answer(1)));
    assert_eq!(world.turno.keep_answer("POST /v1/tasks ana", "k", answer(2)).await, Ok(answer(1)));
    assert_eq!(world.turno.keep_answer("POST /v1/tasks luis", "k", answer(3)).await, Ok(answer(3)), "another scope");
    world.reopen().await;
    world.advance(DAY);
    assert_eq!(world.turno.answer("POST /v1/tasks ana", "k").await, Ok(Some(answer(1))));
    assert_eq!(world.turno.purge().await.unwrap().answers, 0);
    world.advance(1);
    assert_eq!(world.turno.answer("POST /v1/tasks ana", "k").await, Ok(None), "an answer expires without a purge");
    assert_eq!(world.turno.keep_answer("POST /v1/tasks ana", "k", answer(4)).await, Ok(answer(4)));
    assert_eq!(world.turno.purge().await.unwrap().answers, 1, "only luis's answer is left to purge");
    assert_eq!(world.turno.answer("POST /v1/tasks ana", "k").await, Ok(Some(answer(4))));
}

async fn one_of_several_concurrent_answers_is_kept(world: World) {
    let instances = [world.turno.clone(), world.instance().await];
    let mut keeping = tokio::task::JoinSet::new();
    for n in 0..8 {
        let turno = instances[usize::from(n) % 2].clone();
        keeping.spawn(async move { turno.keep_answer("s", "k", answer(n)).await.unwrap() });
    }
    let kept = keeping.join_all().await;
    let there = world.turno.answer("s", "k").await.unwrap().expect("one answer is kept");
    assert!(kept.iter().all(|one| *one == there), "every call returns the same answer: {kept:?}");
}

async fn only_the_embedding_program_can_keep_answers(world: World) {
    world.turno.add_person(NewPerson::new("eva", "Eva", Role::Admin).unwrap()).await.unwrap();
    let (_, secret) = world.turno.create_token(NewToken::for_user("eva").unwrap()).await.unwrap();
    let eva = world.turno.authenticate(&secret).await.unwrap();
    assert!(matches!(eva.keep_answer("s", "k", answer(1)).await, Err(Error::Misuse(Misuse::TrustedOnly))));
    assert!(matches!(eva.answer("s", "k").await, Err(Error::Misuse(Misuse::TrustedOnly))));
    assert!(matches!(world.turno.answer("s", "").await, Err(Error::Name(_))), "an empty key is invalid");
    assert_eq!(world.turno.answer("s", "k").await, Ok(None));
}

fn once() -> Option<Once> {
    Some(Once::new("POST /v1/tasks ana", "k-1").unwrap())
}

async fn make(turno: &Turno, title: &str, once: Option<Once>) -> TaskAnswer {
    let lines = vec![NewLine { movement: Movement::In, sku: "x".try_into().unwrap(), goods: Goods::Quantity(1) }];
    turno
        .task_command(None, holder("ana"), NewTask::titled(title).lines(lines).ready().once(once).into())
        .await
        .unwrap()
}

async fn count(turno: &Turno) -> usize {
    turno.tasks(TaskQuery { limit: 100, ..TaskQuery::default() }).await.unwrap().tasks.len()
}

async fn a_task_is_created_once_per_key_also_after_answers_are_purged(mut world: World) {
    let first = make(&world.turno, "Uno", once()).await;
    assert_eq!(first.answer, Ok(Outcome::Done));
    let id: TaskId = first.task.as_ref().unwrap().id;
    world.advance(30 * DAY);
    world.reopen().await;
    world.turno.purge().await.unwrap();
    let claim = turno::core::lease::Action::Claim { ttl: Some(Span(5_000)), wait: false };
    let claim = turno::core::task::Action::Lease(claim);
    let held = world.turno.task_command(Some(id), holder("luis"), claim).await.unwrap();
    let again = make(&world.turno, "Dos", once()).await;
    assert_eq!(
        (again.answer, again.task.clone()),
        (Ok(Outcome::Repeated), held.task),
        "a repeat returns the current task"
    );
    assert_eq!(again.lease, held.lease);
    let other = make(&world.turno, "Tres", Some(Once::new("POST /v1/tasks ana", "k-2").unwrap())).await;
    assert_eq!((other.answer, count(&world.turno).await), (Ok(Outcome::Done), 2));
    let history = world.turno.task_history(id, None, 9).await.unwrap();
    assert_eq!(history.events.len(), 2, "created and claimed: a repeat adds no event");
    make(&world.turno, "Sin clave", None).await;
    make(&world.turno, "Sin clave", None).await;
    assert_eq!(count(&world.turno).await, 4);
}

async fn concurrent_creations_under_one_key_make_one_task(world: World) {
    let instances = [world.turno.clone(), world.instance().await];
    let mut making = tokio::task::JoinSet::new();
    for n in 0..8 {
        let turno = instances[n % 2].clone();
        making.spawn(async move { make(&turno, &format!("n.º {n}"), once()).await });
    }
    let made = making.join_all().await;
    let fresh = made.iter().filter(|answer| answer.answer == Ok(Outcome::Done)).count();
    let ids: Vec<TaskId> = made.iter().map(|answer| answer.task.as_ref().unwrap().id).collect();
    assert_eq!((fresh, count(&world.turno).await), (1, 1));
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    // The control: without the key each call creates a task.
    make(&world.turno, "a", None).await;
    make(&world.turno, "a", None).await;
    assert_eq!(count(&world.turno).await, 3);
}
