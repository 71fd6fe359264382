//! `turno run`: a command under a lease, on the database and at a server.

use turno::core::lease::Action;

use crate::cases;
use crate::shell::Shell;
use crate::world::World;

cases![
    BOTH: [
        a_command_gets_its_fence_and_its_exit_code_is_passed_on,
        a_command_is_not_run_while_another_user_holds_the_lease,
        a_lost_lease_stops_the_command,
        a_command_longer_than_its_lease_keeps_it,
        a_command_gets_the_token_only_on_request,
        a_lease_with_a_minimum_time_stays_held_after_its_command,
    ],
    SQLITE: [
        a_command_that_cannot_be_run_frees_the_lease,
        a_command_ended_by_a_signal_is_reported_by_the_exit_code,
        signals_are_passed_on,
        the_children_of_a_stopped_command_are_stopped_too,
        the_database_argument_overrides_a_server_in_the_environment,
    ],
];

/// Returns the two ways to run a command: at the server as Ana, and directly on the database.
async fn ways(world: &World) -> [Shell; 2] {
    [Shell::signed_in(world, "ana").await, Shell::at(world).without("TURNO_URL")]
}

async fn force_release(world: &World, resource: &str) {
    let force = Action::ForceRelease { reason: "for a test".to_owned(), fence: None };
    let answer = world.turno.lease_command(world.turno.command(resource, "eva", force).unwrap()).await.unwrap();
    assert!(answer.answer.is_ok(), "{answer:?}");
}

async fn is_free(world: &World, resource: &str) -> bool {
    let (now, state) = world.turno.lease_state(resource.try_into().unwrap()).await.unwrap();
    state.live(now).is_none()
}

async fn a_command_gets_its_fence_and_its_exit_code_is_passed_on(world: World) {
    for (index, shell) in ways(&world).await.into_iter().enumerate() {
        let resource = format!("job:{index}");
        let script = "echo $TURNO_RESOURCE $TURNO_FENCE; exit 7";
        let ran = shell.run(&["run", "--resource", &resource, "--", "sh", "-c", script]).await;
        assert_eq!(ran.code, Some(7), "{ran:?}");
        let (name, fence) = ran.out.trim().split_once(' ').unwrap();
        assert!(name == resource && fence.parse::<i64>().unwrap() > 0, "{ran:?}");
    }
    assert!(is_free(&world, "job:1").await, "the lease was released");
}

async fn a_command_gets_the_token_only_on_request(world: World) {
    let [signed_in, direct] = ways(&world).await;
    for (index, shell) in [signed_in, direct.with("TURNO_TOKEN", "turno_unused")].into_iter().enumerate() {
        let script = "test -n \"$TURNO_TOKEN\" && echo token; echo $TURNO_FENCE";
        let words = |more: &[&str]| {
            let resource = format!("job:{index}");
            let words = [&["run", "--resource", &resource], more, &["--", "sh", "-c", script]].concat();
            words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()
        };
        // The symptom of 0.1.0: every command inherited the token.
        let run = async |words: Vec<String>| shell.run(&words.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let ran = run(words(&[])).await;
        assert!(ran.code == Some(0) && !ran.out.contains("token"), "{ran:?}");
        let ran = run(words(&["--pass-token"])).await;
        assert!(ran.code == Some(0) && ran.out.contains("token"), "{ran:?}");
    }
}

async fn a_command_is_not_run_while_another_user_holds_the_lease(world: World) {
    let claim = world.turno.command("job", "leo", Action::Claim { ttl: None, wait: false }).unwrap();
    assert!(world.turno.lease_command(claim).await.unwrap().answer.is_ok());
    for shell in ways(&world).await {
        let refused = shell.run(&["run", "--resource", "job", "--wait", "100ms", "--", "echo", "ran"]).await;
        assert!(refused.refused(75).contains("leo"), "the refusal names the holder: {refused:?}");
        assert_eq!(refused.out, "");
    }
}

async fn a_lease_with_a_minimum_time_stays_held_after_its_command(world: World) {
    for (index, shell) in ways(&world).await.into_iter().enumerate() {
        let resource = format!("job:{index}");
        let words = |time| {
            ["run", "--resource", &resource, "--instance", "a", "--at-least-for", time, "--", "sh", "-c", "exit 3"]
        };
        let refused = shell.run(&words("2h")).await;
        assert!(refused.refused(2).contains("1h"), "the longest time is named: {refused:?}");
        assert!(is_free(&world, &resource).await, "a refused time claims nothing");
        assert_eq!(shell.run(&words("30m")).await.code, Some(3), "the command's exit code");
        assert!(!is_free(&world, &resource).await);
        // The same instance is refused, too.
        let again = shell.run(&words("30m")).await;
        again.refused(75);
        let plain = format!("plain:{index}");
        let zero = shell.run(&["run", "--resource", &plain, "--at-least-for", "0s", "--", "true"]).await;
        zero.done();
        assert!(is_free(&world, &plain).await, "no time is kept");
    }
}

async fn a_lost_lease_stops_the_command(world: World) {
    for (index, shell) in ways(&world).await.into_iter().enumerate() {
        let resource = format!("job:{index}");
        let words = ["run", "--resource", &resource, "--ttl", "3s", "--", "sh", "-c", "echo started; exec cat"];
        let started = shell.start(&words).await;
        force_release(&world, &resource).await;
        let ended = started.ended().await;
        assert!(ended.refused(1).contains("lost"), "{ended:?}");
        assert!(ended.talk.contains("stopping the command: "), "{ended:?}");
        assert!(ended.talk.contains("error: sh was stopped: "), "{ended:?}");
        assert!(
            ended.talk.contains("eva") || ended.talk.contains("Eva"),
            "the output names who took the lease: {ended:?}"
        );
    }
}

async fn a_command_longer_than_its_lease_keeps_it(world: World) {
    for (index, shell) in ways(&world).await.into_iter().enumerate() {
        let resource = format!("job:{index}");
        let words = ["run", "--resource", &resource, "--ttl", "2s", "--", "sh", "-c", "echo started; exec cat"];
        let started = shell.start(&words).await;
        // A claim that waits longer than the ttl does not get the lease.
        let other = Shell::at(&world).without("TURNO_URL");
        let refused = other.run(&["run", "--resource", &resource, "--wait", "4s", "--", "echo", "ran"]).await;
        refused.refused(75);
        started.signal("TERM").await;
        assert_eq!(started.ended().await.code, Some(128 + 15));
    }
}

async fn a_command_that_cannot_be_run_frees_the_lease(world: World) {
    let shell = Shell::at(&world).without("TURNO_URL");
    let missing = shell.run(&["run", "--resource", "job", "--", "no-such-program-anywhere"]).await;
    assert!(missing.refused(127).contains("no-such-program-anywhere"), "{missing:?}");
    assert!(shell.run(&["run", "--resource", "job", "--", "/"]).await.refused(126).contains("failed to run /"));
    assert!(is_free(&world, "job").await);
    let nothing = shell.run(&["run", "--resource", "job"]).await;
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
}

async fn a_command_ended_by_a_signal_is_reported_by_the_exit_code(world: World) {
    let shell = Shell::at(&world).without("TURNO_URL");
    let killed = shell.run(&["run", "--resource", "job", "--", "sh", "-c", "kill -KILL $$"]).await;
    assert_eq!(killed.code, Some(128 + 9), "{killed:?}");
    assert!(is_free(&world, "job").await);
}

async fn signals_are_passed_on(world: World) {
    let shell = Shell::at(&world).without("TURNO_URL");
    // Not INT, because a shell in the background passes on "ignore INT" and no trap can undo that. And no second
    // process, because a signal between fork and exec would be lost in the shell's handler.
    let script = "trap 'exit 5' TERM; echo started; read line";
    let started = shell.start(&["run", "--resource", "job", "--", "sh", "-c", script]).await;
    started.signal("TERM").await;
    assert_eq!(started.ended().await.code, Some(5));
    assert!(is_free(&world, "job").await, "the lease was released");
}

async fn the_children_of_a_stopped_command_are_stopped_too(world: World) {
    let shell = Shell::at(&world).without("TURNO_URL");
    let script = "sleep 1000 & echo started; wait";
    let started = shell.start(&["run", "--resource", "job", "--ttl", "3s", "--", "sh", "-c", script]).await;
    force_release(&world, "job").await;
    // The command's stdout ends only when its last child has ended.
    started.ended().await.refused(1);
}

async fn the_database_argument_overrides_a_server_in_the_environment(world: World) {
    let elsewhere = Shell::at(&world).with("TURNO_URL", "http://127.0.0.1:1");
    let ran = elsewhere.run(&["run", "--database", &world.url, "--resource", "job", "--", "echo", "ran"]).await;
    assert_eq!(ran.done(), "ran");
    assert!(
        elsewhere
            .run(&["run", "--resource", "job", "--", "echo", "ran"])
            .await
            .refused(1)
            .contains("no server answers")
    );
}
