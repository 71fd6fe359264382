//! One test per rule of access.

use super::*;
use crate::audit::AuditAction;
use crate::time::Span;

fn id(text: &str) -> UserId {
    UserId::new(text).expect("valid")
}

fn person(text: &str, role: Role) -> Person {
    let (name, created_at) = (format!("«{text}»"), Time(5));
    Person { id: id(text), name, role, disabled: false, password: None, created_at, identity: None }
}

impl Principal {
    /// Returns the principal of an unrestricted token.
    pub(super) fn for_tests(user: UserId, role: Role) -> Principal {
        token(user.as_str(), None).principal(Some(&person(user.as_str(), role)), None, Time(10)).expect("valid")
    }
}

fn token(user: &str, scope: Option<Permissions>) -> Token {
    Token {
        id: format!("t-{user}"),
        hash: Hash([7; 32]),
        user: id(user),
        name: None,
        machine: false,
        scope,
        resources: Vec::new(),
        queues: Vec::new(),
        expires_at: None,
        created_at: Time(1),
        created_by: id("root"),
        parent: None,
        console: false,
        last_used_at: None,
    }
}

fn admin() -> Principal {
    token("eva", None).principal(Some(&person("eva", Role::Admin)), None, Time(10)).expect("valid")
}

fn about(person: Option<Person>) -> View {
    View { person, admins: 1, ..View::default() }
}

fn set_role(user: &str, role: Role) -> Change {
    Change::ChangePerson { id: id(user), name: None, role: Some(role), disabled: None, password: None, spare: None }
}

#[test]
fn permissions_and_roles_are_parsed_back_from_their_names() {
    for permission in Permission::ALL {
        assert_eq!(permission.as_str().parse(), Ok(permission));
    }
    let all = Permissions::all();
    assert_eq!(all.to_string().parse(), Ok(all));
    assert_eq!("".parse(), Ok(Permissions::default()));
    assert!("leases.use nothing.such".parse::<Permissions>().is_err());
    for role in [Role::Viewer, Role::Editor, Role::Admin] {
        assert_eq!(role.as_str().parse(), Ok(role));
    }
}

#[test]
fn each_role_includes_the_permissions_of_the_lower_one() {
    let [viewer, editor, admin] = [Role::Viewer, Role::Editor, Role::Admin].map(Role::permissions);
    assert_eq!((viewer.beyond(editor), editor.beyond(admin)), (None, None));
    assert!(editor.has(Permission::InventoryManage) && !editor.has(Permission::LocksOverride));
    assert_eq!(admin, Permissions::all());
}

#[test]
fn token_has_at_most_the_permissions_of_its_owner() {
    let scope = [Permission::LeasesUse, Permission::LocksOverride].into_iter().collect();
    let principal = token("ana", Some(scope)).principal(Some(&person("ana", Role::Editor)), None, Time(0)).unwrap();
    assert_eq!(principal.require(Permission::LeasesUse), Ok(()));
    let missing = Denied::Missing(Permission::LocksOverride);
    assert_eq!(principal.require(Permission::LocksOverride), Err(missing), "an editor lacks the permission");
    assert!(principal.require(Permission::QueuesProduce).is_err(), "the scope of the token lacks the permission");
}

#[test]
fn token_is_denied_if_expired_or_its_owner_is_disabled_or_unknown() {
    let expired = Token { expires_at: Some(Time(10)), ..token("ana", None) };
    let ana = person("ana", Role::Editor);
    assert!(expired.principal(Some(&ana), None, Time(9)).is_ok());
    assert_eq!(expired.principal(Some(&ana), None, Time(10)), Err(Denied::Unauthenticated));
    let disabled = Person { disabled: true, ..ana };
    assert_eq!(token("ana", None).principal(Some(&disabled), None, Time(0)), Err(Denied::Unauthenticated));
    assert_eq!(token("ana", None).principal(None, None, Time(0)), Err(Denied::Unauthenticated));
}

#[test]
fn token_limited_to_some_resources_is_denied_for_others() {
    let token = Token { resources: vec!["task:7".to_owned(), "caja:".to_owned()], ..token("ana", None) };
    let principal = token.principal(Some(&person("ana", Role::Editor)), None, Time(0)).unwrap();
    let resource = |name: &str| Resource::new(name).expect("valid");
    assert_eq!(principal.require_resource(&resource("caja:3")), Ok(()));
    assert!(principal.require_resource(&resource("task:8")).is_err());
}

#[test]
fn the_last_administrator_cannot_be_demoted_disabled_or_removed() {
    let eva = person("eva", Role::Admin);
    let disable = Change::ChangePerson {
        id: id("eva"),
        name: None,
        role: None,
        disabled: Some(true),
        password: None,
        spare: None,
    };
    for command in [set_role("eva", Role::Editor), disable, Change::RemovePerson { id: id("eva") }] {
        let refused = change(Some(&admin()), &command, about(Some(eva.clone())), Time(9));
        assert_eq!(refused, Err(ChangeRefused::LastAdmin(id("eva"))), "{command:?}");
        let refused = change(None, &command, about(Some(eva.clone())), Time(9));
        assert!(refused.is_err(), "not even from the command line");
        let view = View { admins: 2, ..about(Some(eva.clone())) };
        let changed = change(Some(&admin()), &command, view, Time(9)).expect("there is another administrator");
        assert!(changed.raises_epoch);
    }
}

#[test]
fn caller_cannot_grant_permissions_beyond_their_own() {
    let scope = [Permission::UsersManage, Permission::LeasesUse].into_iter().collect::<Permissions>();
    let scope = scope.or(Permissions::TO_READ);
    let clerk = token("eva", Some(scope)).principal(Some(&person("eva", Role::Admin)), None, Time(0)).unwrap();
    let add = |role| Change::AddPerson { id: id("leo"), name: "Leo".to_owned(), role, password: None };
    let more = |answer| matches!(answer, Err(ChangeRefused::MoreThanHeld(_)));
    assert!(change(Some(&clerk), &add(Role::Viewer), about(None), Time(1)).is_ok());
    assert!(more(change(Some(&clerk), &add(Role::Editor), about(None), Time(1))));
    let two = View { admins: 2, ..about(Some(person("noa", Role::Admin))) };
    assert!(more(change(Some(&clerk), &set_role("noa", Role::Viewer), two.clone(), Time(1))), "nor take them away");
    assert!(more(change(Some(&clerk), &Change::CreateToken(token("noa", None)), two, Time(1))));
}

#[test]
fn editor_makes_own_tokens_but_manages_no_people() {
    let ana = person("ana", Role::Editor);
    let me = token("ana", None).principal(Some(&ana), None, Time(0)).unwrap();
    let denied = Err(ChangeRefused::Denied(Denied::Missing(Permission::UsersManage)));
    assert_eq!(change(Some(&me), &set_role("ana", Role::Admin), about(Some(ana.clone())), Time(1)), denied);
    let mine = Change::CreateToken(token("ana", None));
    let made = change(Some(&me), &mine, about(Some(ana.clone())), Time(3)).expect("a token of their own");
    assert_eq!(made.token.map(|token| (token.created_by, token.created_at)), Some((id("ana"), Time(3))));
    let other = Change::CreateToken(token("leo", None));
    assert_eq!(change(Some(&me), &other, about(Some(person("leo", Role::Viewer))), Time(3)), denied);
}

#[test]
fn session_gets_page_permissions_and_others_only_if_its_maker_holds_them() {
    let scope = [Permission::SessionsMint].into_iter().collect();
    let portal = token("eva", Some(scope)).principal(Some(&person("eva", Role::Admin)), None, Time(0)).unwrap();
    let mint = |scope| Change::MintSession {
        token: Token { name: Some("Paco".to_owned()), ..token("laravel-9", scope) },
        ttl: Span::from_secs(900),
    };
    let made = change(Some(&portal), &mint(None), about(None), Time(1_000)).unwrap().token.unwrap();
    assert_eq!((made.expires_at, made.scope), (Some(Time(901_000)), Some(Permissions::OF_A_PAGE)));
    let eva = person("eva", Role::Admin);
    let paco = made.principal(None, Some(&eva), Time(2_000)).expect("the user need not be stored");
    assert_eq!((paco.name.as_str(), paco.via), ("Paco", Some(id("eva"))));
    let more = Some([Permission::LocksOverride].into_iter().collect());
    assert!(change(Some(&portal), &mint(more), about(None), Time(0)).is_err());
    assert!(change(Some(&admin()), &mint(more), about(None), Time(0)).is_ok());
    let long = Change::MintSession { token: token("x", None), ttl: Span::from_secs(901) };
    assert!(change(Some(&portal), &long, about(None), Time(0)).is_err());
}

#[test]
fn acting_on_behalf_needs_sessions_mint_and_gives_only_common_permissions() {
    let editor = token("ana", None).principal(Some(&person("ana", Role::Editor)), None, Time(0)).unwrap();
    assert_eq!(editor.on_behalf_of(id("leo"), None), Err(Denied::Missing(Permission::SessionsMint)));
    let as_leo = admin().on_behalf_of(id("leo"), Some(&person("leo", Role::Viewer))).unwrap();
    assert_eq!((as_leo.permissions, as_leo.via.clone()), (Permissions::TO_READ, Some(id("eva"))));
    let as_stranger = admin().on_behalf_of(id("paco"), None).unwrap();
    assert_eq!(as_stranger.permissions, Permissions::OF_A_PAGE);
    let out = Person { disabled: true, ..person("leo", Role::Editor) };
    assert_eq!(admin().on_behalf_of(id("leo"), Some(&out)), Err(Denied::Unauthenticated));
}

#[test]
fn revocation_and_role_change_raise_the_epoch_and_adding_a_person_does_not() {
    let view = View { token: Some(token("ana", None)), ..about(None) };
    let revoked = change(Some(&admin()), &Change::RevokeToken { id: "t-ana".to_owned() }, view, Time(1)).unwrap();
    assert!(revoked.raises_epoch && revoked.revoked == ["t-ana"]);
    let command = Change::AddPerson { id: id("leo"), name: String::new(), role: Role::Editor, password: None };
    assert!(!change(Some(&admin()), &command, about(None), Time(1)).unwrap().raises_epoch);
    let up = change(Some(&admin()), &set_role("leo", Role::Admin), about(Some(person("leo", Role::Editor))), Time(1));
    assert!(up.unwrap().raises_epoch, "a new permission must hold from the next request on");
    let rename = Change::ChangePerson {
        id: id("leo"),
        name: Some("L".to_owned()),
        role: None,
        disabled: None,
        password: None,
        spare: None,
    };
    let renamed = change(Some(&admin()), &rename, about(Some(person("leo", Role::Viewer))), Time(1));
    assert!(!renamed.unwrap().raises_epoch, "a name does not affect access");
}

#[test]
fn audit_of_a_change_names_the_actor_and_contains_no_secret() {
    let command = Change::AddPerson {
        id: id("leo"),
        name: "Leo".to_owned(),
        role: Role::Editor,
        password: Some("$argon2id$secreto".to_owned()),
    };
    let changed = change(Some(&admin()), &command, about(None), Time(1)).unwrap();
    assert_eq!((changed.audit.actor.user, changed.audit.action), (id("eva"), AuditAction::UserAdd));
    assert!(!changed.audit.detail.contains("secreto"));
    assert!(!format!("{:?}", changed.person).contains("secreto"), "debug output omits the password");
}

#[test]
fn session_ends_with_its_makers_rights_and_cannot_make_sessions() {
    let mint = |scope: Option<Permissions>, by: &Principal| {
        let command = Change::MintSession { token: token("ghost", scope), ttl: Span::from_secs(60) };
        change(Some(by), &command, about(None), Time(1_000)).map(|changed| changed.token.expect("made"))
    };
    let session = mint(None, &admin()).expect("good");
    let eva = person("eva", Role::Admin);
    assert!(session.principal(None, Some(&eva), Time(2_000)).is_ok());
    let out = Person { disabled: true, ..eva.clone() };
    let demoted = Person { role: Role::Editor, ..eva };
    for maker in [Some(&out), Some(&demoted), None] {
        assert_eq!(session.principal(None, maker, Time(2_000)), Err(Denied::Unauthenticated), "{maker:?}");
    }
    for permission in [Permission::SessionsMint, Permission::UsersManage] {
        assert!(
            mint(Some([permission].into_iter().collect()), &admin()).is_err(),
            "a session cannot have {permission}"
        );
    }
    let short = Principal { expires_at: Some(Time(3_000)), ..admin() };
    assert_eq!(
        mint(None, &short).expect("good").expires_at,
        Some(Time(3_000)),
        "a session does not outlive its maker's token"
    );
}

#[test]
fn restricted_token_cannot_make_a_wider_one_or_change_a_password() {
    let ana = person("ana", Role::Editor);
    let narrow = Token { resources: vec!["caja:".to_owned()], expires_at: Some(Time(900)), ..token("ana", None) };
    let narrow = narrow.principal(Some(&ana), None, Time(0)).unwrap();
    let make = |token| change(Some(&narrow), &Change::CreateToken(token), about(Some(ana.clone())), Time(1));
    assert!(make(token("ana", None)).is_err(), "more resources");
    let inside = Token { resources: vec!["caja:3".to_owned()], ..token("ana", None) };
    assert!(make(inside.clone()).is_err(), "a later expiry");
    assert!(make(Token { expires_at: Some(Time(900)), ..inside }).is_ok());
    let password = Change::ChangePerson {
        id: id("ana"),
        name: None,
        role: None,
        disabled: None,
        password: Some("$argon2id$nuevo".to_owned()),
        spare: None,
    };
    let empty = token("ana", Some(Permissions::default())).principal(Some(&ana), None, Time(0)).unwrap();
    for by in [&narrow, &empty] {
        assert!(change(Some(by), &password, about(Some(ana.clone())), Time(1)).is_err());
    }
    let whole = token("ana", None).principal(Some(&ana), None, Time(0)).unwrap();
    assert!(change(Some(&whole), &password, about(Some(ana.clone())), Time(1)).is_ok());
    let confined = Principal { resources: vec!["caja:".to_owned()], ..admin() };
    let add = Change::AddPerson { id: id("leo"), name: String::new(), role: Role::Admin, password: None };
    assert!(change(Some(&confined), &add, about(None), Time(1)).is_err(), "a limited token manages no people");
}

#[test]
fn acting_on_behalf_of_a_user_does_not_manage_their_tokens() {
    let as_ana = admin().on_behalf_of(id("ana"), Some(&person("ana", Role::Editor))).unwrap();
    let view = View { token: Some(token("ana", None)), ..about(Some(person("ana", Role::Editor))) };
    let denied = Err(ChangeRefused::Denied(Denied::Missing(Permission::UsersManage)));
    assert_eq!(change(Some(&as_ana), &Change::RevokeToken { id: "t-ana".to_owned() }, view.clone(), Time(1)), denied);
    assert_eq!(change(Some(&as_ana), &Change::CreateToken(token("ana", None)), view, Time(1)), denied);
    let mint = Change::MintSession { token: token("vera", None), ttl: Span::from_secs(9) };
    let made = change(Some(&admin()), &mint, about(Some(person("vera", Role::Viewer))), Time(1)).unwrap();
    assert_eq!(
        made.token.and_then(|token| token.scope),
        Some([Permission::TasksRead].into_iter().collect()),
        "a viewer's session may only read"
    );
}

fn console(user: &str, number: usize) -> Token {
    Token { id: format!("c{number:03}-{user}"), console: true, ..token(user, None) }
}

#[test]
fn console_session_has_all_rights_of_its_person_until_it_expires() {
    let ana = person("ana", Role::Editor);
    let command = Change::OpenSession { token: console("ana", 1), ttl: Span::from_secs(60), sign_in: None };
    let opened = change(None, &command, about(Some(ana.clone())), Time(7)).unwrap();
    let token = opened.token.unwrap();
    assert_eq!(
        (token.kind(), token.expires_at, token.created_by.as_str()),
        (TokenKind::Console, Some(Time(60_007)), "ana")
    );
    let principal = token.principal(Some(&ana), None, Time(60_006)).unwrap();
    assert!(principal.is_unrestricted(Role::Editor) && !opened.raises_epoch);
    assert!(token.principal(Some(&ana), None, Time(60_007)).is_err());

    let by_admin = change(Some(&admin()), &command, about(Some(ana.clone())), Time(7));
    assert!(matches!(by_admin, Err(ChangeRefused::Invalid(_))), "a token cannot open a console session");
    let disabled = Person { disabled: true, ..ana.clone() };
    assert!(change(None, &command, about(Some(disabled)), Time(7)).is_err());
    assert!(change(None, &command, about(None), Time(7)).is_err());
    let for_ever = Change::OpenSession { token: console("ana", 1), ttl: Span::from_secs(31 * 86_400), sign_in: None };
    assert!(change(None, &for_ever, about(Some(ana)), Time(7)).is_err());
}

#[test]
fn opening_too_many_console_sessions_ends_the_oldest() {
    let consoles: Vec<String> = (0..50).map(|n| format!("c{n}")).collect();
    let command = Change::OpenSession { token: console("ana", 1), ttl: Span::from_secs(60), sign_in: None };
    let view = View { consoles, ..about(Some(person("ana", Role::Viewer))) };
    let opened = change(None, &command, view, Time(7)).unwrap();
    assert_eq!((opened.revoked, opened.raises_epoch), (vec!["c0".to_owned()], true));
}

#[test]
fn new_password_ends_other_console_sessions_and_disabling_ends_all() {
    let ana = person("ana", Role::Editor);
    let view = || View { consoles: vec!["a".to_owned(), "b".to_owned()], ..about(Some(ana.clone())) };
    let command = |disabled, password: Option<&str>, spare: Option<&str>| Change::ChangePerson {
        id: id("ana"),
        name: Some("A".to_owned()),
        role: None,
        disabled,
        password: password.map(str::to_owned),
        spare: spare.map(str::to_owned),
    };
    let ended = |command: Change| {
        let changed = change(None, &command, view(), Time(1)).unwrap();
        (changed.revoked.concat(), changed.unlinked.is_some(), changed.raises_epoch)
    };
    assert_eq!(ended(command(None, None, None)), (String::new(), false, false), "a name ends no session");
    assert_eq!(ended(command(None, Some("new"), None)), ("ab".to_owned(), true, true));
    assert_eq!(ended(command(None, Some("new"), Some("b"))), ("a".to_owned(), true, true));
    assert_eq!(ended(command(Some(true), None, Some("b"))), ("ab".to_owned(), true, true));
}

fn link(to: LinkFor) -> Link {
    Link { hash: Hash([3; 32]), to, expires_at: Time(100), created_at: Time(1) }
}

#[test]
fn setup_link_works_only_without_an_administrator() {
    let make = Change::MakeLink { link: link(LinkFor::Setup), ttl: Span::from_secs(1) };
    let none = || View { admins: 0, ..View::default() };
    let made = change(None, &make, none(), Time(5)).unwrap().link.unwrap();
    assert_eq!((made.expires_at, made.created_at), (Time(1_005), Time(5)));
    assert_eq!(change(None, &make, about(None), Time(5)).err(), Some(ChangeRefused::HasAdmin));
    let redeem = Change::RedeemLink(made.clone());
    let view = |admins| View { admins, link: Some(made.clone()), ..View::default() };
    assert_eq!(change(None, &redeem, view(0), Time(6)).unwrap().spent, Some(made.hash));
    assert!(change(None, &redeem, view(1), Time(6)).is_err(), "an administrator was added meanwhile");
}

#[test]
fn sign_in_link_works_once_before_its_expiry_for_an_enabled_person() {
    let ana = person("ana", Role::Viewer);
    let to = LinkFor::SignIn(id("ana"));
    let make = |by: Option<&Principal>, ttl, person| {
        change(by, &Change::MakeLink { link: link(to.clone()), ttl: Span::from_secs(ttl) }, about(person), Time(5))
    };
    assert!(make(None, 60, Some(ana.clone())).is_ok());
    assert!(make(Some(&admin()), 60, Some(ana.clone())).is_err(), "not even by an administrator");
    assert!(make(None, 8 * 86_400, Some(ana.clone())).is_err());
    assert!(make(None, 60, None).is_err());
    let redeem = |person: Option<Person>, found: Option<Link>, now| {
        change(None, &Change::RedeemLink(link(to.clone())), View { link: found, ..about(person) }, Time(now))
    };
    let there = Some(link(to.clone()));
    assert!(redeem(Some(ana.clone()), there.clone(), 99).is_ok());
    assert!(redeem(Some(ana.clone()), there.clone(), 100).is_err(), "expired");
    assert!(redeem(Some(ana.clone()), None, 50).is_err(), "used");
    assert!(redeem(Some(Person { disabled: true, ..ana }), there.clone(), 50).is_err());
    assert!(redeem(None, there, 50).is_err());
}

#[test]
fn token_for_one_kind_reaches_nothing_of_the_other() {
    let ana = person("ana", Role::Editor);
    let reach = |resources: &[&str], queues: &[&str], session: bool| {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let principal = token("ana", None).principal(Some(&ana), None, Time(0)).unwrap();
        Principal { resources: texts(resources), queues: texts(queues), session, ..principal }
    };
    let seen = |caller: &Principal| {
        let leases = ["caja:1", "task:7"].map(|name| caller.reaches_resource(name));
        let queues = ["mails", "mails2", "bot-1"].map(|name| caller.reaches_queue(name));
        (leases, caller.reaches_tasks(), queues)
    };
    for (caller, expected) in [
        (reach(&[], &[], false), ([true, true], true, [true, true, true])),
        (reach(&[], &[], true), ([true, false], false, [false, false, false])),
        (reach(&["caja:"], &[], false), ([true, false], false, [false, false, false])),
        (reach(&["task:7"], &[], true), ([false, true], true, [false, false, false])),
        (reach(&["t"], &[], true), ([false, true], true, [false, false, false])),
        (reach(&[], &["mails"], false), ([false, false], false, [true, false, false])),
        (reach(&[], &["mails*"], true), ([false, false], false, [true, true, false])),
        (reach(&["caja:"], &["bot-*"], true), ([true, false], false, [false, false, true])),
        (reach(&[], &["*"], false), ([false, false], false, [true, true, true])),
    ] {
        assert_eq!(seen(&caller), expected, "{caller:?}");
    }
}

#[test]
fn bounded_token_cannot_make_one_that_reaches_other_queues() {
    let ana = person("ana", Role::Admin);
    let bound = |resources: &[&str], queues: &[&str]| Token {
        resources: resources.iter().map(|text| (*text).to_owned()).collect(),
        queues: queues.iter().map(|text| (*text).to_owned()).collect(),
        ..token("ana", None)
    };
    let by = bound(&[], &["bot-*", "mails"]).principal(Some(&ana), None, Time(0)).unwrap();
    let make = |token: Token| change(Some(&by), &Change::CreateToken(token), about(Some(ana.clone())), Time(1));
    let mint = |token: Token| {
        let command = Change::MintSession { token: Token { user: id("paco"), ..token }, ttl: Span::from_secs(9) };
        change(Some(&by), &command, about(None), Time(1))
    };
    for inside in [bound(&[], &["bot-1"]), bound(&[], &["bot-a*", "mails"])] {
        assert!(make(inside.clone()).is_ok() && mint(inside).is_ok());
    }
    for beyond in [bound(&[], &[]), bound(&[], &["mails*"]), bound(&[], &["*"]), bound(&["caja:"], &["mails"])] {
        assert!(make(beyond.clone()).is_err() && mint(beyond.clone()).is_err(), "{beyond:?}");
    }
}

#[test]
fn narrow_token_revokes_only_itself() {
    let eva = person("eva", Role::Admin);
    let other = Token { id: "t-other".to_owned(), ..token("eva", None) };
    let whole = token("eva", None).principal(Some(&eva), None, Time(0)).unwrap();
    let mut some = Permissions::all();
    some = some.without([Permission::AuditRead].into_iter().collect());
    let fewer = token("eva", Some(some)).principal(Some(&eva), None, Time(0)).unwrap();
    let bounded = Principal { queues: vec!["mails".to_owned()], ..whole.clone() };
    let revoke = |by: &Principal, token: Token| {
        let view = View { token: Some(token.clone()), ..about(Some(eva.clone())) };
        change(Some(by), &Change::RevokeToken { id: token.id }, view, Time(1))
    };
    let of_leo = Token { id: "t-leo".to_owned(), ..token("leo", None) };
    for by in [&fewer, &bounded] {
        assert!(revoke(by, token("eva", None)).is_ok(), "a token may revoke itself");
        assert!(revoke(by, other.clone()).is_err() && revoke(by, of_leo.clone()).is_err(), "{by:?}");
    }
    assert!(revoke(&whole, other).is_ok() && revoke(&whole, of_leo).is_ok());
}

#[test]
fn unknown_actor_has_the_permissions_of_a_page_and_of_the_tokens_list() {
    let eva = person("eva", Role::Admin);
    let paco = |scope: Option<Permissions>| {
        let by = token("eva", scope).principal(Some(&eva), None, Time(0)).unwrap();
        by.on_behalf_of(id("paco"), None).unwrap().permissions
    };
    assert_eq!(paco(None), Permissions::OF_A_PAGE, "a token without a list adds nothing");
    let list = [Permission::SessionsMint, Permission::UsersManage, Permission::QueuesProduce].into_iter().collect();
    let expected = Permissions::OF_A_PAGE.or([Permission::QueuesProduce].into_iter().collect());
    assert_eq!(paco(Some(list)), expected);
}
