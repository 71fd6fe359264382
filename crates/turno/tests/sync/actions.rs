//! Which changes lead to an event, and what is sent: sections 3 and 4 of the specification.

use super::*;

#[tokio::test]
async fn insert_of_a_user_is_enqueued_and_the_data_are_sent() {
    let world = World::new().await;
    world.run(&person(42)).await;
    world.assert_events(&["42 ACTUALIZAR PENDIENTE 0"]).await;
    assert_eq!(world.drain().await, [sent(42)]);
    assert!(world.events().await.is_empty());
}

#[tokio::test]
async fn physical_delete_enqueues_desactivar() {
    let world = World::new().await;
    world.people(&[42, 43]).await;
    world.run("delete from siper.usuarios where idper = 42").await;
    world.assert_events(&["42 DESACTIVAR PENDIENTE 0"]).await;
    assert_eq!(world.drain().await, ["DESACTIVAR 42"]);
}

#[tokio::test]
async fn update_of_each_watched_field_is_enqueued() {
    let world = World::new().await;
    world.people(&[42]).await;
    for change in ["nombre = 'Otro'", "apellido = 'Otra'", "activo = false", "hashpass = 'h2'", "hashpass = null"] {
        world.run(&format!("update siper.usuarios set {change} where idper = 42")).await;
        world.assert_events(&["42 ACTUALIZAR PENDIENTE 0"]).await;
        assert_eq!(world.drain().await.len(), 1, "{change}");
    }
    world.run("update siper.usuarios set idper = 50 where idper = 42").await;
    world.assert_events(&["42 DESACTIVAR PENDIENTE 0", "50 ACTUALIZAR PENDIENTE 0"]).await;
}

#[tokio::test]
async fn changes_of_other_fields_such_as_telefono_or_mail_do_not_fire() {
    let world = World::new().await;
    world.people(&[42]).await;
    world.run("update siper.usuarios set telefono = '999', mail = 'otro@x'").await;
    world.assert_events(&[]).await;
}

#[tokio::test]
async fn an_update_without_a_real_change_does_not_fire() {
    let world = World::new().await;
    world.people(&[42]).await;
    world.run("update siper.usuarios set nombre = nombre, apellido = 'Apellido 42', activo = true, idper = 42").await;
    world.assert_events(&[]).await;
}

#[tokio::test]
async fn a_change_by_a_before_trigger_is_noticed() {
    let world = World::new().await;
    world.people(&[42]).await;
    let before = "
        create function siper.normalise() returns trigger language plpgsql as $$
            begin new.apellido := upper(new.mail); return new; end $$;
        create trigger aaa before update on siper.usuarios for each row execute function siper.normalise();";
    world.sql.batch_execute(before).await.unwrap();
    world.run("update siper.usuarios set mail = 'nuevo'").await;
    world.assert_events(&["42 ACTUALIZAR PENDIENTE 0"]).await;
    assert!(world.drain().await[0].contains("\"apellido\":\"NUEVO\""));
}

#[tokio::test]
async fn an_update_of_the_idper_enqueues_desactivar_for_the_old_id_and_actualizar_for_the_new_one() {
    let world = World::new().await;
    world.people(&[42]).await;
    world.run("update siper.usuarios set idper = 43 where idper = 42").await;
    world.assert_events(&["42 DESACTIVAR PENDIENTE 0", "43 ACTUALIZAR PENDIENTE 0"]).await;
    let sent_texts = world.drain().await;
    assert!(
        sent_texts[0].starts_with("ACTUALIZAR 43 {\"idper\":43") && sent_texts[1] == "DESACTIVAR 42",
        "{sent_texts:?}"
    );
}

#[tokio::test]
async fn a_user_who_stops_being_principal_enqueues_desactivar() {
    let world = World::new().await;
    world.people(&[42]).await;
    world.run("update siper.usuarios set principal = false where idper = 42").await;
    world.assert_events(&["42 DESACTIVAR PENDIENTE 0"]).await;
    assert_eq!(world.drain().await, ["DESACTIVAR 42"]);
    world.run("update siper.usuarios set principal = true where idper = 42").await;
    assert_eq!(world.drain().await, [sent(42)], "the user is principal again");
}

#[tokio::test]
async fn an_inactive_principal_is_sent_as_actualizar() {
    let world = World::new().await;
    world.people(&[42]).await;
    world.run("update siper.usuarios set activo = false").await;
    assert_eq!(world.drain().await, [sent(42).replace("true", "false")]);
}

/// S9.
#[tokio::test]
async fn deleting_moving_or_changing_a_user_who_was_not_principal_never_deactivates_an_active_identity() {
    let world = World::new().await;
    world.people(&[42, 43]).await;
    world.run(&user("42", "PG-SHA256", false).replace("'u42@x'", "'segundo'")).await;
    world.assert_events(&[]).await;
    world.run("update siper.usuarios set nombre = 'X' where mail = 'segundo'").await;
    world.run("update siper.usuarios set idper = 43 where mail = 'segundo'").await;
    world.run("update siper.usuarios set idper = null where mail = 'segundo'").await;
    world.run("update siper.usuarios set idper = 42 where mail = 'segundo'").await;
    world.run("delete from siper.usuarios where mail = 'segundo'").await;
    world.assert_events(&[]).await;
}

/// S9: both orders of the two updates, in one transaction.
#[tokio::test]
async fn the_principal_moves_from_one_user_to_another_and_the_identity_stays_active_in_either_order() {
    let world = World::new().await;
    world.people(&[42]).await;
    world.run(&user("42", "PG-SHA256", false).replace("Nombre 42", "Otra").replace("'u42@x'", "'b'")).await;
    world
        .run(
            "begin; update siper.usuarios set principal = false where mail = 'u42@x';
        update siper.usuarios set principal = true where mail = 'b'; commit",
        )
        .await;
    world.assert_events(&["42 ACTUALIZAR PENDIENTE 0"]).await;
    assert!(world.drain().await[0].starts_with("ACTUALIZAR 42 {\"idper\":42,\"nombre\":\"Otra\""));
    // In the other order the index would refuse the intermediate state, so the second user comes from another id.
    world
        .run(
            "begin; update siper.usuarios set idper = 99 where mail = 'b';
        update siper.usuarios set principal = true where mail = 'u42@x'; commit",
        )
        .await;
    world.assert_events(&["42 ACTUALIZAR PENDIENTE 0", "99 ACTUALIZAR PENDIENTE 0"]).await;
    assert_eq!(world.drain().await[0], sent(42));
}

#[tokio::test]
async fn the_final_state_of_a_transaction_is_delivered_in_any_order_of_its_statements() {
    let world = World::new().await;
    world.people(&[42]).await;
    for (statements, sent_texts) in [
        (format!("delete from siper.usuarios where idper = 42; {}", person(42)), sent(42)),
        (format!("delete from siper.usuarios; {} delete from siper.usuarios;", person(42)), "DESACTIVAR 42".to_owned()),
        (format!("{} update siper.usuarios set nombre = 'Z'; update siper.usuarios set nombre = 'Nombre 42';", person(42)), sent(42)),
        ("update siper.usuarios set idper = 7; update siper.usuarios set idper = 42; update siper.usuarios set hashpass = 'h42';".to_owned(), sent(42)),
    ] {
        world.run(&format!("begin; {statements} commit")).await;
        let all = world.drain().await;
        assert!(all.contains(&sent_texts), "{statements} {all:?}");
        assert!(all.iter().all(|one| *one == sent_texts || one == "DESACTIVAR 7"), "{all:?}");
    }
}

#[tokio::test]
async fn two_people_who_swap_their_ids_are_both_sent_with_their_new_data() {
    let world = World::new().await;
    world.people(&[1, 2]).await;
    world.run("begin; update siper.usuarios set idper = -1 where idper = 1; update siper.usuarios set idper = 1 where idper = 2;
        update siper.usuarios set idper = 2 where idper = -1; commit").await;
    let sent_texts = world.drain().await;
    assert!(sent_texts[0].starts_with("ACTUALIZAR 1 {\"idper\":1,\"nombre\":\"Nombre 2\""), "{sent_texts:?}");
    assert!(sent_texts[1].starts_with("ACTUALIZAR 2 {\"idper\":2,\"nombre\":\"Nombre 1\""), "{sent_texts:?}");
    assert_eq!(sent_texts[2..], ["DESACTIVAR -1"]);
}
