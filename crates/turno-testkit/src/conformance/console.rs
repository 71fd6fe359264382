//! Signing in: single-use links and console sessions.

use super::world::{START, World};
use std::time::Duration;
use turno::access::{NewPerson, NewToken, Permission, PersonChange};
use turno::core::access::{Change, ChangeRefused, Denied, Link, LinkFor, Role, TokenKind, View, change};
use turno::core::audit::Hash;
use turno::core::id::UserId;
use turno::core::time::Span;
use turno::store::AuditQuery;
use turno::{Error, Misuse, Turno};

super::cases![
    a_link_is_redeemed_once_over_all_instances,
    a_setup_link_exists_only_while_there_is_no_administrator,
    a_link_ends_at_its_expiry_and_with_its_person,
    only_the_embedding_program_can_sign_people_in,
    a_console_session_has_all_rights_of_its_person,
    a_console_session_is_renewed_by_work_up_to_its_longest_duration,
    a_new_password_ends_the_other_console_sessions_on_every_instance,
    disabling_a_user_ends_their_console_sessions,
    tokens_are_listed_with_every_stored_field,
];

const HOUR: Duration = Duration::from_secs(3_600);
const OUT: Error = Error::Denied(Denied::Unauthenticated);

fn user(id: &str) -> UserId {
    UserId::new(id).unwrap()
}

async fn add(turno: &Turno, id: &str, role: Role) {
    turno.add_person(NewPerson::new(id, &format!("«{id}»"), role).unwrap()).await.unwrap();
}

async fn a_link_is_redeemed_once_over_all_instances(world: World) {
    add(&world.turno, "ana", Role::Editor).await;
    let instances = [world.turno.clone(), world.instance().await];
    let ana = LinkFor::SignIn(user("ana"));
    for _ in 0..5 {
        let secret = world.turno.make_link(ana.clone(), HOUR).await.unwrap();
        let mut tries = tokio::task::JoinSet::new();
        for n in 0..8 {
            let (turno, secret) = (instances[n % 2].clone(), secret.clone());
            tries.spawn(async move { turno.redeem_link(&secret).await.unwrap() });
        }
        let let_in: Vec<LinkFor> = tries.join_all().await.into_iter().flatten().collect();
        assert_eq!(let_in, std::slice::from_ref(&ana), "exactly one redemption succeeds, as ana");
    }
    // The control: without the lock, each redemption reads the unused link and succeeds.
    let person = world.turno.person(user("ana")).await.unwrap();
    let link = Link { hash: Hash::default(), to: ana, expires_at: START + HOUR.into(), created_at: START };
    let unlocked = || View { person: person.clone(), link: Some(link.clone()), ..View::default() };
    let redeem = || change(None, &Change::RedeemLink(link.clone()), unlocked(), link.created_at);
    assert!(redeem().is_ok() && redeem().is_ok());
}

async fn a_setup_link_exists_only_while_there_is_no_administrator(mut world: World) {
    assert!(!world.turno.has_admin().await.unwrap());
    let [first, second] = [
        world.turno.make_link(LinkFor::Setup, HOUR).await.unwrap(),
        world.turno.make_link(LinkFor::Setup, HOUR).await.unwrap(),
    ];
    world.reopen().await;
    assert_eq!(world.turno.redeem_link(&first).await.unwrap(), Some(LinkFor::Setup));
    add(&world.turno, "eva", Role::Admin).await;
    assert!(world.turno.has_admin().await.unwrap());
    assert_eq!(world.turno.redeem_link(&second).await.unwrap(), None, "an administrator exists now");
    let refused = world.turno.make_link(LinkFor::Setup, HOUR).await;
    assert_eq!(refused, Err(Error::Refused(ChangeRefused::HasAdmin)));
    let query = AuditQuery { resource: Some("setup".to_owned()), after: Some(0), limit: 9, ..AuditQuery::default() };
    let actions: Vec<String> = world.turno.audit(query).await.unwrap().into_iter().map(|entry| entry.action).collect();
    assert_eq!(actions, ["link_make", "link_make", "link_redeem"]);
}

async fn a_link_ends_at_its_expiry_and_with_its_person(world: World) {
    let turno = &world.turno;
    add(turno, "eva", Role::Admin).await;
    add(turno, "ana", Role::Editor).await;
    let ana = || turno.make_link(LinkFor::SignIn(user("ana")), HOUR);
    let change = |change| turno.change_person(user("ana"), change);
    let late = ana().await.unwrap();
    world.advance(Span::from(HOUR).0);
    assert_eq!(turno.redeem_link(&late).await.unwrap(), None);
    assert_eq!(turno.purge().await.unwrap().links, 0, "a link that expires at this instant is not purged yet");
    world.advance(1);
    assert_eq!(turno.purge().await.unwrap().links, 1);

    let before = ana().await.unwrap();
    change(PersonChange { password: Some("new".to_owned()), ..PersonChange::default() }).await.unwrap();
    assert_eq!(turno.redeem_link(&before).await.unwrap(), None, "a new password ends older links");
    let before = ana().await.unwrap();
    change(PersonChange { disabled: Some(true), ..PersonChange::default() }).await.unwrap();
    assert!(ana().await.is_err());
    change(PersonChange { disabled: Some(false), ..PersonChange::default() }).await.unwrap();
    assert_eq!(turno.redeem_link(&before).await.unwrap(), None);
    let before = ana().await.unwrap();
    turno.remove_person(user("ana")).await.unwrap();
    add(turno, "ana", Role::Admin).await;
    assert_eq!(turno.redeem_link(&before).await.unwrap(), None, "the id belongs to another person now");
    assert_eq!(turno.redeem_link("turno_nonsense").await.unwrap(), None);
}

async fn only_the_embedding_program_can_sign_people_in(world: World) {
    add(&world.turno, "eva", Role::Admin).await;
    let (_, secret) = world.turno.create_token(NewToken::for_user("eva").unwrap()).await.unwrap();
    let eva = world.turno.authenticate(&secret).await.unwrap();
    let link = world.turno.make_link(LinkFor::SignIn(user("eva")), HOUR).await.unwrap();
    assert!(matches!(eva.make_link(LinkFor::SignIn(user("eva")), HOUR).await, Err(Error::Misuse(Misuse::TrustedOnly))));
    assert!(matches!(eva.redeem_link(&link).await, Err(Error::Misuse(Misuse::TrustedOnly))));
    assert!(matches!(eva.open_session(user("eva"), HOUR).await, Err(Error::Misuse(Misuse::TrustedOnly))));
    assert!(world.turno.redeem_link(&link).await.unwrap().is_some(), "the refused attempts did not use the link");
    world.turno.open_session(user("eva"), HOUR).await.unwrap();
    for action in ["link_redeem", "session_open"] {
        let query = AuditQuery { action: Some(action.to_owned()), limit: 9, ..AuditQuery::default() };
        let entries = world.turno.audit(query).await.unwrap();
        assert_eq!(entries.iter().map(|entry| entry.actor.user.as_str()).collect::<Vec<_>>(), ["eva"], "{action}");
    }
}

async fn a_console_session_has_all_rights_of_its_person(world: World) {
    add(&world.turno, "eva", Role::Admin).await;
    let (token, secret) = world.turno.open_session(user("eva"), HOUR).await.unwrap();
    assert_eq!((token.kind(), token.machine, token.scope), (TokenKind::Console, false, None));
    let eva = world.turno.authenticate(&secret).await.unwrap();
    let principal = eva.principal().unwrap();
    assert!(principal.is_unrestricted(Role::Admin) && principal.permissions.has(Permission::SessionsMint));
    assert!(eva.create_token(NewToken::for_user("eva").unwrap()).await.is_ok());
    eva.revoke_token(&token.id).await.unwrap();
    assert_eq!(eva.people(None, 9).await, Err(OUT), "signed out");
    let (_, secret) = world.turno.open_session(user("eva"), HOUR).await.unwrap();
    let eva = world.turno.authenticate(&secret).await.unwrap();
    world.advance(Span::from(HOUR).0);
    assert_eq!(eva.people(None, 9).await, Err(OUT));
}

async fn a_console_session_is_renewed_by_work_up_to_its_longest_duration(world: World) {
    let (turno, other) = (&world.turno, world.instance().await);
    add(turno, "ana", Role::Editor).await;
    let (_, secret) = turno.open_session(user("ana"), HOUR).await.unwrap();
    let (_, idle) = turno.open_session(user("ana"), HOUR).await.unwrap();
    let (here, there) = (turno.authenticate(&secret).await.unwrap(), other.authenticate(&secret).await.unwrap());
    let most = HOUR * 5 / 2;
    let alive = async |turno: &Turno| turno.tokens(None, None, 9).await;
    world.advance(Span::from(HOUR / 2).0);
    assert!(!here.renew_session(HOUR, most).await.unwrap(), "half of the time is left, so nothing is renewed");
    world.advance(1);
    assert!(here.renew_session(HOUR, most).await.unwrap());
    assert!(!here.renew_session(HOUR, most).await.unwrap(), "a renewal right after another does nothing");
    // The other instance and the older handle re-read the session when the expiry they cached arrives.
    world.advance(Span::from(HOUR / 2).0);
    assert!(alive(&here).await.is_ok() && alive(&there).await.is_ok());
    assert!(other.authenticate(&secret).await.is_ok());
    assert_eq!(turno.authenticate(&idle).await.unwrap_err(), OUT, "the control: an idle session expires");
    world.advance(Span::from(HOUR / 10).0);
    assert!(there.renew_session(HOUR, most).await.unwrap());
    world.advance(Span::from(HOUR * 6 / 10).0);
    assert!(here.renew_session(HOUR, most).await.unwrap(), "the renewal is capped at the longest session");
    world.advance(Span::from(HOUR * 6 / 10).0);
    assert!(!here.renew_session(HOUR, most).await.unwrap() && alive(&here).await.is_ok());
    world.advance(Span::from(HOUR * 2 / 10).0);
    assert_eq!((alive(&here).await, other.authenticate(&secret).await.err()), (Err(OUT), Some(OUT)));
}

async fn a_new_password_ends_the_other_console_sessions_on_every_instance(world: World) {
    let (turno, other) = (&world.turno, world.instance().await);
    add(turno, "ana", Role::Editor).await;
    add(turno, "eva", Role::Admin).await;
    let open = async |turno: &Turno, id| {
        let (token, secret) = turno.open_session(user(id), HOUR).await.unwrap();
        (token.id, turno.authenticate(&secret).await.unwrap())
    };
    let (here, there) = (open(turno, "ana").await, open(&other, "ana").await);
    let (_, eva) = open(&other, "eva").await;
    let (_, secret) = turno.create_token(NewToken::for_user("ana").unwrap()).await.unwrap();
    let kept = turno.authenticate(&secret).await.unwrap();
    let new = PersonChange { password: Some("new".to_owned()), spare: Some(here.0), ..PersonChange::default() };
    here.1.change_person(user("ana"), new).await.unwrap();
    let alive = async |turno: &Turno| turno.tokens(None, None, 9).await;
    assert_eq!(alive(&there.1).await, Err(OUT));
    assert!(alive(&here.1).await.is_ok() && alive(&eva).await.is_ok() && alive(&kept).await.is_ok());
    let new = PersonChange { password: Some("newer".to_owned()), ..PersonChange::default() };
    turno.change_person(user("ana"), new).await.unwrap();
    assert_eq!(alive(&here.1).await, Err(OUT));
    assert!(alive(&kept).await.is_ok(), "a new password does not end tokens");
}

async fn disabling_a_user_ends_their_console_sessions(world: World) {
    add(&world.turno, "ana", Role::Editor).await;
    let (token, secret) = world.turno.open_session(user("ana"), HOUR).await.unwrap();
    let switch =
        |disabled| PersonChange { disabled: Some(disabled), spare: Some(token.id.clone()), ..Default::default() };
    world.turno.change_person(user("ana"), switch(true)).await.unwrap();
    world.turno.change_person(user("ana"), switch(false)).await.unwrap();
    assert_eq!(
        world.turno.authenticate(&secret).await.unwrap_err(),
        OUT,
        "enabling the user again does not revive the session"
    );
    let again = world.turno.open_session(user("ana"), HOUR).await.unwrap();
    assert!(world.turno.authenticate(&again.1).await.is_ok());
}

async fn tokens_are_listed_with_every_stored_field(mut world: World) {
    add(&world.turno, "eva", Role::Admin).await;
    add(&world.turno, "robot", Role::Editor).await;
    let (console, secret) = world.turno.open_session(user("eva"), HOUR).await.unwrap();
    let eva = world.turno.authenticate(&secret).await.unwrap();
    world.advance(7);
    let new = NewToken {
        machine: true,
        scope: Some([Permission::LeasesUse].into_iter().collect()),
        resources: vec!["caja:".to_owned()],
        expires_in: Some(Duration::from_secs(60)),
        ..NewToken::for_user("robot").unwrap()
    };
    let (made, _) = eva.create_token(new).await.unwrap();
    let (session, _) =
        eva.mint_session(NewToken::for_user("laravel-7").unwrap(), Duration::from_secs(60)).await.unwrap();
    world.reopen().await;
    let tokens = world.turno.tokens(None, None, 9).await.unwrap();
    let find = |id: &str| tokens.iter().find(|token| token.id == id).expect("listed").clone();
    assert_eq!(tokens.len(), 3);
    let robot = find(&made.id);
    assert_eq!((robot.user.as_str(), robot.machine, robot.created_by.as_str()), ("robot", true, "eva"));
    assert_eq!((robot.created_at, robot.expires_at), (made.created_at, Some(made.created_at + Span::from_secs(60))));
    assert_eq!((robot.resources.concat(), robot.scope, robot.last_used_at), ("caja:".to_owned(), made.scope, None));
    assert_eq!(
        [robot.kind(), find(&session.id).kind(), find(&console.id).kind()].map(TokenKind::as_str),
        ["token", "session", "console"]
    );
    let page = world.turno.tokens(None, Some(tokens[0].id.clone()), 1).await.unwrap();
    assert_eq!(page, &tokens[1..2], "tokens are listed by id");
}
