//! `turno run`: a command under a lease, on the database and at a server.

use turno::core::lease::Action;

use crate::cases;
use crate::shell::Shell;
use crate::world::World;

cases![
    BOTH: [
        a_command_knows_its_fence_and_passes_its_code_on,
        what_somebody_else_holds_is_not_run,
        a_lost_lease_stops_the_command,
        a_command_longer_than_its_lease_keeps_it,
    ],
    SQLITE: [
        a_command_that_cannot_be_run_frees_the_lease,
        a_command_that_a_signal_ended_is_told_by_its_code,
        signals_are_passed_on,
        all_that_the_command_has_started_is_stopped_with_it,
        a_typed_database_counts_more_than_a_server_in_the_environment,
    ],
];

/// The two ways in: at the server as Ana, and directly on the database.
async fn ways(world: &World) -> [Shell; 2] {
    [Shell::of(world, "ana").await, Shell::at(world).without("TURNO_URL")]
}

async fn force_release(world: &World, resource: &str) {
    let force = Action::ForceRelease { reason: "for a test".to_owned(), fence: None };
    let answer = world.turno.lease(world.turno.command(resource, "eva", force).unwrap()).await.unwrap();
    assert!(answer.answer.is_ok(), "{answer:?}");
}

async fn is_free(world: &World, resource: &str) -> bool {
    let (now, state) = world.turno.lease_state(resource.try_into().unwrap()).await.unwrap();
    state.live(now).is_none()
}

async fn a_command_knows_its_fence_and_passes_its_code_on(world: World) {
    for (index, shell) in ways(&world).await.into_iter().enumerate() {
        let resource = format!("job:{index}");
        let script = "echo $TURNO_RESOURCE $TURNO_FENCE; exit 7";
        let ran = shell.run(&["run", "--resource", &resource, "--", "sh", "-c", script]).await;
        assert_eq!(ran.code, Some(7), "{ran:?}");
        let (name, fence) = ran.out.trim().split_once(' ').unwrap();
        assert!(name == resource && fence.parse::<i64>().unwrap() > 0, "{ran:?}");
    }
    assert!(is_free(&world, "job:1").await, "it was given back");
}

async fn what_somebody_else_holds_is_not_run(world: World) {
    let claim = world.turno.command("job", "leo", Action::Claim { ttl: None, wait: false }).unwrap();
    assert!(world.turno.lease(claim).await.unwrap().answer.is_ok());
    for shell in ways(&world).await {
        let refused = shell.run(&["run", "--resource", "job", "--wait", "100ms", "--", "echo", "ran"]).await;
        assert!(refused.refused(75).contains("leo"), "it says who has it: {refused:?}");
        assert_eq!(refused.out, "");
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
        assert!(ended.talk.contains("eva") || ended.talk.contains("Eva"), "by whom: {ended:?}");
    }
}

async fn a_command_longer_than_its_lease_keeps_it(world: World) {
    for (index, shell) in ways(&world).await.into_iter().enumerate() {
        let resource = format!("job:{index}");
        let words = ["run", "--resource", &resource, "--ttl", "2s", "--", "sh", "-c", "echo started; exec cat"];
        let started = shell.start(&words).await;
        // Whoever waits for longer than the lease lives does not get it.
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

async fn a_command_that_a_signal_ended_is_told_by_its_code(world: World) {
    let shell = Shell::at(&world).without("TURNO_URL");
    let killed = shell.run(&["run", "--resource", "job", "--", "sh", "-c", "kill -KILL $$"]).await;
    assert_eq!(killed.code, Some(128 + 9), "{killed:?}");
    assert!(is_free(&world, "job").await);
}

async fn signals_are_passed_on(world: World) {
    let shell = Shell::at(&world).without("TURNO_URL");
    // Not INT: a shell in the background hands "ignore it" down, and no trap undoes that. And no second process: a signal
    // that reaches it between fork and exec is noted by the shell's handler, and lost with it.
    let script = "trap 'exit 5' TERM; echo started; read line";
    let started = shell.start(&["run", "--resource", "job", "--", "sh", "-c", script]).await;
    started.signal("TERM").await;
    assert_eq!(started.ended().await.code, Some(5));
    assert!(is_free(&world, "job").await, "it was given back");
}

async fn all_that_the_command_has_started_is_stopped_with_it(world: World) {
    let shell = Shell::at(&world).without("TURNO_URL");
    let script = "sleep 1000 & echo started; wait";
    let started = shell.start(&["run", "--resource", "job", "--ttl", "3s", "--", "sh", "-c", script]).await;
    force_release(&world, "job").await;
    // Its stdout ends only when the last of them has.
    started.ended().await.refused(1);
}

async fn a_typed_database_counts_more_than_a_server_in_the_environment(world: World) {
    let elsewhere = Shell::at(&world).with("TURNO_URL", "http://127.0.0.1:1");
    let ran = elsewhere.run(&["run", "--database", &world.url, "--resource", "job", "--", "echo", "ran"]).await;
    assert_eq!(ran.done(), "ran");
    assert!(
        elsewhere.run(&["run", "--resource", "job", "--", "echo", "ran"]).await.refused(1).contains("nothing answers")
    );
}
