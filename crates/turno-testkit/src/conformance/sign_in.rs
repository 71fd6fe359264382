//! Sign-in attempts: their pace over all instances, and their audit.

use super::world::World;
use std::time::Duration;
use turno::access::{FailedSignIns, NewPerson, NewToken, PaceStep, PaceVerdict, SignIn, SignInMethod};
use turno::core::access::{PAIR_PACE, PaceCounts, Role, pace};
use turno::core::id::UserId;
use turno::core::time::Span;
use turno::store::AuditQuery;
use turno::{Error, Misuse, Turno};

super::cases![
    parallel_attempts_on_all_instances_share_one_pace,
    a_guesser_slows_only_itself_and_a_success_clears_the_pair,
    sign_ins_and_failures_are_audited_with_their_source,
    only_the_embedding_program_paces_and_records_sign_ins,
];

const HOME: &str = "192.0.2.7";

async fn attempt(turno: &Turno, source: &str, user: &str) -> PaceVerdict {
    turno.pace_sign_in(source, user, PaceStep::Attempt).await.unwrap()
}

const ALLOWED: PaceVerdict = PaceVerdict::Allowed { delay: Span(0) };

async fn parallel_attempts_on_all_instances_share_one_pace(world: World) {
    let instances = [world.turno.clone(), world.instance().await];
    let mut tries = tokio::task::JoinSet::new();
    for n in 0..60 {
        let turno = instances[n % 2].clone();
        tries.spawn(async move { attempt(&turno, HOME, "ana").await });
    }
    let allowed = tries.join_all().await.into_iter().filter(|verdict| *verdict == ALLOWED).count();
    assert_eq!(allowed, usize::try_from(PAIR_PACE.burst).unwrap());
    // The control: attempts that do not read each other's counts are all allowed.
    let now = world.turno.now();
    assert!((0..60).all(|_| pace(PaceStep::Attempt, PaceCounts::default(), now).0 == ALLOWED));
}

async fn a_guesser_slows_only_itself_and_a_success_clears_the_pair(world: World) {
    let other = world.instance().await;
    for _ in 0..PAIR_PACE.burst {
        assert_eq!(attempt(&world.turno, HOME, "ana").await, ALLOWED);
    }
    assert_eq!(attempt(&other, HOME, "ana").await, PaceVerdict::Refused { wait: PAIR_PACE.every });
    assert_eq!(attempt(&other, "192.0.2.8", "ana").await, ALLOWED, "from another source");
    assert_eq!(attempt(&other, HOME, "leo").await, ALLOWED, "at another user");
    world.advance(PAIR_PACE.every.0 - 1);
    assert_eq!(attempt(&other, HOME, "ana").await, PaceVerdict::Refused { wait: Span(1) });
    world.advance(1);
    assert_eq!(attempt(&other, HOME, "ana").await, ALLOWED);
    assert!(matches!(attempt(&world.turno, HOME, "ana").await, PaceVerdict::Refused { .. }));
    world.turno.pace_sign_in(HOME, "ana", PaceStep::Success).await.unwrap();
    assert_eq!(attempt(&other, HOME, "ana").await, ALLOWED);
}

async fn sign_ins_and_failures_are_audited_with_their_source(world: World) {
    let turno = &world.turno;
    turno.add_person(NewPerson::new("ana", "Ana Pérez", Role::Editor).unwrap()).await.unwrap();
    let ana = UserId::new("ana").unwrap();
    let by = SignIn { method: SignInMethod::Password, source: HOME.to_owned() };
    let (_, secret) = turno.sign_in(ana.clone(), Duration::from_secs(60), by).await.unwrap();
    assert!(turno.authenticate(&secret).await.is_ok());
    let failures = |user, failed, refused| FailedSignIns { user, source: HOME.to_owned(), failed, refused };
    turno.record_failed_sign_ins(failures(Some(ana), 3, 2)).await.unwrap();
    turno.record_failed_sign_ins(failures(None, 1, 0)).await.unwrap();
    let entries = async |action: &str| {
        let query = AuditQuery { after: Some(0), action: Some(action.to_owned()), limit: 9, ..AuditQuery::default() };
        let entries = turno.audit(query).await.unwrap();
        let rows = entries.into_iter().map(|entry| (entry.actor.user.to_string(), entry.resource, entry.detail));
        rows.collect::<Vec<_>>()
    };
    let [(actor, resource, detail)] = &entries("sign_in").await[..] else { panic!("one sign-in") };
    assert_eq!((actor.as_str(), resource.as_str()), ("ana", "ana"));
    let detail: serde_json::Value = serde_json::from_str(detail).unwrap();
    assert_eq!((&detail["method"], &detail["source"]), (&"password".into(), &HOME.into()));
    let failed = entries("sign_in_failed").await;
    let expected = |resource: &str, failed: u32, refused: u32| {
        let detail = format!("{{\"failed\":{failed},\"refused\":{refused},\"source\":\"{HOME}\"}}");
        ("system".to_owned(), resource.to_owned(), detail)
    };
    let sorted = |(actor, resource, detail): (String, String, String)| {
        let detail: std::collections::BTreeMap<String, serde_json::Value> = serde_json::from_str(&detail).unwrap();
        (actor, resource, serde_json::to_string(&detail).unwrap())
    };
    let failed: Vec<_> = failed.into_iter().map(sorted).collect();
    assert_eq!(failed, [expected("ana", 3, 2), expected("unknown user", 1, 0)]);
}

async fn only_the_embedding_program_paces_and_records_sign_ins(world: World) {
    world.turno.add_person(NewPerson::new("eva", "Eva", Role::Admin).unwrap()).await.unwrap();
    let (_, secret) = world.turno.create_token(NewToken::for_user("eva").unwrap()).await.unwrap();
    let eva = world.turno.authenticate(&secret).await.unwrap();
    let refused = |error: Option<Error>| matches!(error, Some(Error::Misuse(Misuse::TrustedOnly)));
    assert!(refused(eva.pace_sign_in(HOME, "ana", PaceStep::Success).await.err()));
    let failures = FailedSignIns { user: None, source: HOME.to_owned(), failed: 1, refused: 0 };
    assert!(refused(eva.record_failed_sign_ins(failures).await.err()));
    assert!(refused(eva.peek_link("turno_nonsense").await.err()));
}
