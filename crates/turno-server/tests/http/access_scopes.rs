//! Every route called with tokens and sessions that are limited to resources or queues.

use crate::access::Scope::{Account, Any, Leases, Queues, Tasks, Whole};
use crate::access::{EXPECTED, OK, Scope, status};
use crate::cases;
use crate::world::{Client, World};
use turno::access::{NewToken, Permissions};

cases![every_route_answers_every_bounded_token_as_documented];

/// A caller with bounds, and what it reaches: the lease `caja:1`, any lease, the lease `claim`, the task `none`, any
/// task, the queue `none`, any queue, its account.
struct Bounded {
    name: &'static str,
    client: Client,
    reaches: [bool; 8],
}

async fn bounded_callers(world: &World) -> Vec<Bounded> {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let token = |resources: &[&str], queues: &[&str]| NewToken {
        resources: texts(resources),
        queues: texts(queues),
        ..NewToken::for_user("eva").unwrap()
    };
    let session = async |resources: &[&str], queues: &[&str]| {
        let scope = Permissions::all().iter().filter(|one| !["sessions.mint", "users.manage"].contains(&one.as_str()));
        let user = turno::core::id::UserId::new("paco").unwrap();
        let new = NewToken { user, scope: Some(scope.collect()), ..token(resources, queues) };
        let minute = std::time::Duration::from_secs(600);
        let (_, secret) = world.turno.mint_session(new, minute).await.unwrap();
        Client::new(&world.server.base, Some(secret))
    };
    let (yes, no) = (true, false);
    vec![
        Bounded {
            name: "a token for tills",
            client: world.token(token(&["caja:"], &[])).await,
            reaches: [yes, yes, no, no, no, no, no, yes],
        },
        Bounded {
            name: "a token for tasks",
            client: world.token(token(&["task:"], &[])).await,
            reaches: [no, yes, no, yes, yes, no, no, yes],
        },
        Bounded {
            name: "a token for the queue",
            client: world.token(token(&[], &["no*"])).await,
            reaches: [no, no, no, no, no, yes, yes, yes],
        },
        Bounded {
            name: "a token for another queue",
            client: world.token(token(&[], &["mails"])).await,
            reaches: [no, no, no, no, no, no, yes, yes],
        },
        Bounded {
            name: "a token for both",
            client: world.token(token(&["caja:"], &["none"])).await,
            reaches: [yes, yes, no, no, no, yes, yes, yes],
        },
        Bounded { name: "a session", client: session(&[], &[]).await, reaches: [yes, yes, yes, no, no, no, no, no] },
        Bounded {
            name: "a session for a task",
            client: session(&["task:none"], &[]).await,
            reaches: [no, yes, no, yes, yes, no, no, no],
        },
        Bounded {
            name: "a session for the queue",
            client: session(&[], &["none"]).await,
            reaches: [no, no, no, no, no, yes, yes, no],
        },
    ]
}

/// Returns whether a route is reached, by its scope and the names that `status` puts into its path.
fn reached(route: &str, scope: Scope, reaches: [bool; 8]) -> bool {
    let [till, leases, outside, task, tasks, queue, queues, account] = reaches;
    match scope {
        Any => true,
        Account => account,
        // A GET of these paths reads the lease with that name.
        Leases if route.starts_with("GET /v1/leases/") && !route.contains('{') => outside,
        Leases if route.contains("{resource}") => till,
        Leases => leases,
        Tasks if route.contains("{id}") => task,
        Tasks => tasks,
        Queues if route.contains("{queue}") => queue,
        Queues => queues,
        Whole => false,
    }
}

/// S3 and S4: in 0.1.0 bounds limited leases only, and only for tokens that had `resources`.
async fn every_route_answers_every_bounded_token_as_documented(world: World) {
    let mut wrong = Vec::new();
    for Bounded { name, client, reaches } in bounded_callers(&world).await {
        for (route, expected, scope) in EXPECTED.iter().filter(|(_, expected, _)| expected[0] != OK) {
            let got = status(&client, route).await;
            // A new task has no id, so its creator must reach all tasks.
            let creates = *route == "POST /v1/tasks" && name == "a session for a task";
            let fits = match reached(route, *scope, reaches) && !creates {
                true => !matches!(got, 401 | 403 | 405) && got < 500,
                false => got == 403,
            };
            if !fits && expected[3] == OK {
                wrong.push(format!("{name}: {route}: {got}"));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}
