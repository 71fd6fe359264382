//! People with tasks: three that a visitor can sign in as, and simulated colleagues.
//!
//! Their ids end in `@demo`, so that production can refuse to start with such accounts.

use std::time::Duration;

use super::supervisor::supervise;
use turno::access::{LinkFor, NewPerson, NewToken, Role};
use turno::core::id::{Serial, UserId};
use turno::core::lease::{Action as LeaseAction, Holder, State};
use turno::core::task::{Action, Goods, Movement, NewLine, Status, TaskId};
use turno::core::time::Span;
use turno::task::TaskQuery;
use turno::{Error, Turno};

/// The suffix of the demo's user ids.
pub(crate) const DEMO: &str = "@demo";
/// How long the sign-in links are valid.
const LINKS: Span = Span::from_secs(86_400);
/// Number of tasks at the start.
const OPEN: usize = 16;
/// The ttl and the reported idle time of a colleague who is about to leave.
const COFFEE: Span = Span::from_secs(30);
const IDLE: Span = Span::from_secs(180);

/// The sign-in link of one person.
pub(super) struct Entrance {
    pub(super) name: &'static str,
    pub(super) user: UserId,
    pub(super) link: String,
}

/// What the demo prints for a visitor.
pub(super) struct Office {
    pub(super) entrances: Vec<Entrance>,
    pub(super) token: String,
    /// A handle in Eva's name, for overrides.
    eva: Turno,
}

/// Adds the people, their links, and the first tasks.
pub(super) async fn open(turno: &Turno) -> Result<Office, Error> {
    let mut entrances = Vec::new();
    for (id, name, role) in [("ana", "Ana", Role::Editor), ("leo", "Leo", Role::Editor), ("eva", "Eva", Role::Admin)] {
        let person = turno.add_person(NewPerson::new(&format!("{id}{DEMO}"), name, role)?).await?;
        let link = turno.make_link(LinkFor::SignIn(person.id.clone()), LINKS.into()).await?;
        entrances.push(Entrance { name, user: person.id, link });
    }
    for (id, name) in COLLEAGUES {
        turno.add_person(NewPerson::new(&format!("{id}{DEMO}"), name, Role::Editor)?).await?;
    }
    for number in 0..OPEN {
        new_task(turno, number).await?;
    }
    let (_, token) = turno.create_token(NewToken::for_user(&format!("ana{DEMO}"))?).await?;
    let (_, eva) = turno.create_token(NewToken::for_user(&format!("eva{DEMO}"))?).await?;
    Ok(Office { entrances, token, eva: turno.authenticate(&eva).await? })
}

const COLLEAGUES: [(&str, &str); 3] = [("mar", "Mar"), ("paz", "Paz"), ("sol", "Sol")];
/// Number of tasks that the colleagues leave for a visitor.
const LEFT: usize = 4;
const TITLES: [&str; 4] =
    ["Recepción de tornillos", "Alta de notebooks", "Entrada de resmas y entrega de etiquetas", "Reposición de cables"];

async fn new_task(turno: &Turno, number: usize) -> Result<(), Error> {
    let title = format!("{} #{}", TITLES[number % TITLES.len()], number + 1);
    // Every ninth task is a draft, so that a visitor can mark it as ready.
    let ready = number % 9 != 8;
    turno
        .task_command(None, holder("eva", "Eva")?, Action::Create { title, lines: lines(number)?, ready, once: None })
        .await
        .map(drop)
}

/// Returns the lines of a task: quantities, serial numbers, and sometimes more outgoing units than there are in stock.
fn lines(number: usize) -> Result<Vec<NewLine>, Error> {
    let line = |movement, sku: &str, goods| -> Result<NewLine, Error> {
        Ok(NewLine { movement, sku: sku.try_into()?, goods })
    };
    let some = Goods::Quantity(10 + number as i64);
    Ok(match number % TITLES.len() {
        0 => vec![line(Movement::In, "tornillo-m4", some)?, line(Movement::In, "tuerca-m4", Goods::Quantity(40))?],
        1 => {
            let serial = |unit: usize| Serial::new(format!("NB-{:04}", number * 10 + unit));
            let serials = [1, 2, 3].map(serial).into_iter().collect::<Result<Vec<_>, _>>()?;
            let chargers = line(Movement::In, "cargador-65w", Goods::Quantity(3))?;
            vec![line(Movement::In, "notebook-14", Goods::Serialized(serials))?, chargers]
        }
        2 => vec![
            line(Movement::In, "resma-a4", some)?,
            line(Movement::Out, "etiqueta", Goods::Quantity(25))?,
            line(Movement::In, "sobre-a4", Goods::Quantity(100))?,
        ],
        _ => vec![line(Movement::In, "cable-usb-c", some)?, line(Movement::In, "etiqueta", Goods::Quantity(40))?],
    })
}

fn holder(id: &str, name: &str) -> Result<Holder, Error> {
    Ok(Holder { user: UserId::new(format!("{id}{DEMO}"))?, name: name.to_owned(), instance: None })
}

/// Runs the colleagues: they claim tasks, work, finalize most of them and abandon some. New tasks arrive.
pub(super) async fn colleagues(turno: Turno, office: Office) -> Result<(), Error> {
    let [mar, paz, sol] = COLLEAGUES.map(|(id, name)| holder(id, name));
    let supervisor = supervise(&office.eva, holder("eva", "Eva")?, |holder| is_colleague(&holder.user));
    tokio::join!(work(&turno, mar?, 0), work(&turno, paz?, 3), work(&turno, sol?, 6), refill(&turno), supervisor);
    Ok(())
}

fn is_colleague(user: &UserId) -> bool {
    COLLEAGUES.iter().any(|(id, _)| user.as_str() == format!("{id}{DEMO}"))
}

async fn refill(turno: &Turno) {
    for number in OPEN.. {
        tokio::time::sleep(Duration::from_secs(7)).await;
        // If the database fails, the demo skips one task.
        let _ = new_task(turno, number).await;
    }
}

async fn work(turno: &Turno, who: Holder, mut turn: u64) {
    loop {
        turn += 1;
        tokio::time::sleep(Duration::from_secs(2 + turn % 3)).await;
        // A failed step is skipped, and the colleague tries the next task.
        let _ = process(turno, &who, turn).await;
        let _ = claim_held(turno, &who).await;
        if turn.is_multiple_of(3) {
            let _ = request_release(turno, &who).await;
        }
    }
}

/// Claims a task that another colleague holds, and is refused.
async fn claim_held(turno: &Turno, who: &Holder) -> Result<(), Error> {
    let page = turno.tasks(TaskQuery { locked: Some(true), limit: 50, ..TaskQuery::default() }).await?;
    let others = |lease: &State| {
        let grant = lease.live(page.now);
        grant.is_some_and(|grant| grant.holder.user != who.user && is_colleague(&grant.holder.user))
    };
    let Some((task, _)) = page.tasks.iter().find(|(_, lease)| others(lease)) else {
        return Ok(());
    };
    let claim = LeaseAction::Claim { ttl: None, wait: false };
    turno.task_command(Some(task.id), who.clone(), Action::Lease(claim)).await.map(drop)
}

/// Asks a visitor to release the task that they hold.
async fn request_release(turno: &Turno, who: &Holder) -> Result<(), Error> {
    let page = turno.tasks(TaskQuery { locked: Some(true), limit: 50, ..TaskQuery::default() }).await?;
    let theirs = |lease: &State| lease.live(page.now).is_some_and(|grant| !is_colleague(&grant.holder.user));
    let unasked = |lease: &State| lease.requests.iter().all(|request| request.by.user != who.user);
    let Some((task, _)) = page.tasks.iter().find(|(_, lease)| theirs(lease) && unasked(lease)) else {
        return Ok(());
    };
    let action =
        LeaseAction::RequestRelease { message: Some("¿Te falta mucho? Me la piden para el cierre".to_owned()) };
    turno.lease_command(turno.command_of(task.id.resource(), who.clone(), action)).await.map(drop)
}

/// Processes one task from the end of the list, where a visitor looks last.
async fn process(turno: &Turno, who: &Holder, turn: u64) -> Result<(), Error> {
    let query = TaskQuery { status: Some(Status::Ready), locked: Some(false), limit: 50, ..TaskQuery::default() };
    let page = turno.tasks(query).await?;
    let Some((task, _)) = page.tasks.last().filter(|_| page.tasks.len() > LEFT) else {
        return Ok(());
    };
    let (id, lines): (TaskId, usize) = (task.id, task.lines.len());
    // A colleague who leaves claims with a short ttl, so that a visitor sees the lease expire.
    let coffee = turn.is_multiple_of(4);
    let claim = LeaseAction::Claim { ttl: coffee.then_some(COFFEE), wait: false };
    let claimed = turno.task_command(Some(id), who.clone(), Action::Lease(claim)).await?;
    let Some(grant) = claimed.lease.grant.filter(|_| claimed.answer.is_ok()) else {
        return Ok(());
    };
    let fence = grant.fence;
    for step in 0..(2 + turn % 4) {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let number = 1 + (step as usize % lines) as u32;
        // A line that cannot be applied is refused, and the task continues without it.
        turno.task_command(Some(id), who.clone(), Action::Validate { fence, number }).await?;
        let idle = Some(if coffee { IDLE } else { Span::ZERO });
        let beat = LeaseAction::Heartbeat { fence, idle, worked: !coffee };
        let answer = turno.lease_command(turno.command_of(id.resource(), who.clone(), beat)).await?;
        if answer.answer.is_err() {
            return Ok(());
        }
        if coffee {
            // No heartbeats from here on: the lease expires, and others can claim the task.
            tokio::time::sleep(Duration::from_secs(40)).await;
            return Ok(());
        }
    }
    turno.task_finalize(id, who.clone(), fence).await.map(drop)
}
