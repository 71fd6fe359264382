//! People with tasks: three whom a visitor can be, and colleagues who work beside them.
//!
//! Their ids end in `@demo`, so that production can refuse to start where such accounts exist.

use std::time::Duration;

use turno::core::id::UserId;
use turno::core::lease::{Action as LeaseAction, Holder};
use turno::core::task::{Action, Goods, Movement, NewLine, Status, TaskId};
use turno::core::time::Span;
use turno::{Error, LinkFor, NewPerson, NewToken, Role, TaskQuery, Turno};

/// How ids of demo people end.
pub(crate) const DEMO: &str = "@demo";
/// As long as anybody will look at it.
const LINKS: Span = Span::from_secs(86_400);
/// Open tasks that there are always.
const OPEN: usize = 8;

/// The way in for one person.
pub(super) struct Entrance {
    pub(super) name: &'static str,
    pub(super) link: String,
}

/// What a visitor needs.
pub(super) struct Office {
    pub(super) entrances: Vec<Entrance>,
    pub(super) token: String,
}

/// Makes the people, their ways in, and the first tasks.
pub(super) async fn open(turno: &Turno) -> Result<Office, Error> {
    let mut entrances = Vec::new();
    for (id, name, role) in [("eva", "Eva", Role::Admin), ("ana", "Ana", Role::Editor), ("leo", "Leo", Role::Editor)] {
        let person = turno.add_person(NewPerson::new(&format!("{id}{DEMO}"), name, role)?).await?;
        entrances.push(Entrance { name, link: turno.make_link(LinkFor::SignIn(person.id), LINKS).await? });
    }
    for (id, name) in COLLEAGUES {
        turno.add_person(NewPerson::new(&format!("{id}{DEMO}"), name, Role::Editor)?).await?;
    }
    for number in 0..OPEN {
        new_task(turno, number).await?;
    }
    let (_, token) = turno.create_token(NewToken::of(&format!("ana{DEMO}"))?).await?;
    Ok(Office { entrances, token })
}

const COLLEAGUES: [(&str, &str); 2] = [("mar", "Mar"), ("paz", "Paz")];
const GOODS: [(&str, &str); 4] = [
    ("Recepción de tornillos", "tornillo-m4"),
    ("Alta de notebooks", "notebook-14"),
    ("Entrada de resmas", "resma-a4"),
    ("Reposición de cables", "cable-usb-c"),
];

async fn new_task(turno: &Turno, number: usize) -> Result<(), Error> {
    let (title, sku) = GOODS[number % GOODS.len()];
    let line = |sku: &str, count| -> Result<NewLine, Error> {
        Ok(NewLine { movement: Movement::In, sku: sku.try_into()?, goods: Goods::Quantity(count) })
    };
    let lines = vec![line(sku, 10 + number as i64)?, line("etiqueta", 40)?];
    let who = holder("eva", "Eva")?;
    turno.task_create(who, &format!("{title} #{}", number + 1), lines, true, None).await.map(drop)
}

fn holder(id: &str, name: &str) -> Result<Holder, Error> {
    Ok(Holder { user: UserId::new(format!("{id}{DEMO}"))?, name: name.to_owned(), instance: None })
}

/// Colleagues take tasks, work a while, finish most of them and forget some; new ones come in. Until it is dropped.
pub(super) async fn colleagues(turno: Turno) -> Result<(), Error> {
    let (mar, paz) = (holder("mar", "Mar")?, holder("paz", "Paz")?);
    tokio::join!(work(&turno, mar, 0), work(&turno, paz, 3), refill(&turno));
    Ok(())
}

async fn refill(turno: &Turno) {
    for number in OPEN.. {
        tokio::time::sleep(Duration::from_secs(12)).await;
        // A hiccup of the database costs one task of a demo.
        let _ = new_task(turno, number).await;
    }
}

async fn work(turno: &Turno, who: Holder, mut turn: u64) {
    loop {
        turn += 1;
        tokio::time::sleep(Duration::from_secs(4 + turn % 3)).await;
        // What fails is left, as a person would: the next task is tried.
        let _ = process(turno, &who, turn).await;
    }
}

/// One task from the end of the list, where a visitor looks last.
async fn process(turno: &Turno, who: &Holder, turn: u64) -> Result<(), Error> {
    let query = TaskQuery { status: Some(Status::Ready), locked: Some(false), limit: 50, ..TaskQuery::default() };
    let page = turno.tasks(query).await?;
    let Some((task, _)) = page.tasks.last() else {
        return Ok(());
    };
    let id: TaskId = task.id;
    let claimed =
        turno.task(Some(id), who.clone(), Action::Lease(LeaseAction::Claim { ttl: None, wait: false })).await?;
    let Some(grant) = claimed.lease.grant.filter(|_| claimed.answer.is_ok()) else {
        return Ok(());
    };
    if turn.is_multiple_of(5) {
        // Went for a coffee: the lock runs out by itself, and others can take the task.
        tokio::time::sleep(Duration::from_secs(60)).await;
        return Ok(());
    }
    for _ in 0..(2 + turn % 4) {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let beat = LeaseAction::Heartbeat { fence: grant.fence, idle: Some(Span::ZERO), worked: true };
        let answer = turno.lease(turno.command_of(id.resource(), who.clone(), beat)).await?;
        if answer.answer.is_err() {
            return Ok(());
        }
    }
    turno.task_finalize(id, who.clone(), grant.fence).await.map(drop)
}
