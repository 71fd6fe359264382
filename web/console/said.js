// The texts of process mode, visible and for screen readers. The server sends them with the page, in the person's language.

export const root = () => document.getElementById('process');
export const all = (selector) => [...document.querySelectorAll(selector)];
const fill = (text, name, value) => text.replace(`{${name}}`, () => value);
export const words = (name, values = {}) =>
  Object.entries(values).reduce((text, [key, value]) => fill(text, key, value), root()?.dataset[name] ?? '');
const MINUTES = { hour: '2-digit', minute: '2-digit' };
const SECONDS = { ...MINUTES, second: '2-digit' };
const clock = (at, form) => new Intl.DateTimeFormat('en-GB', form).format(new Date(at));
export const time = (at) => clock(at, MINUTES);
/** Formats a time of a lock with this ttl; with seconds if the ttl is short. */
export const timeWithin = (ttl_ms, at) => clock(at, ttl_ms < 120_000 ? SECONDS : MINUTES);

// Announcements for screen readers. They are outside the part that is read again, otherwise they would be read out twice.

function speaker(role) {
  const element = document.createElement('p');
  element.className = 'visually-hidden';
  element.setAttribute('role', role);
  document.body.append(element);
  return element;
}
export const calmly = speaker('status');
export const urgently = speaker('alert');

// Sentences about the lock.

const quoted = (message) => (message ? ` «${message}»` : '');
export const asked = ({ by, at, message }) => words('asker', { name: by.name, at: time(at) }) + quoted(message);

/** Returns the state of this person's release request. */
function answered({ at, declined_at, answer }, holder) {
  const name = holder?.name ?? '';
  return declined_at ? words('declined', { name, at: time(declined_at) }) + quoted(answer) : words('asked', { name, at: time(at) });
}

function list(place, texts) {
  if ([...place.children].map((one) => one.textContent).join('\n') === texts.join('\n')) return;
  place.replaceChildren(...texts.map((text) => Object.assign(document.createElement('li'), { textContent: text })));
}

/** Returns why the lock was lost. */
function whyLost({ cause, by, by_name, note, message }) {
  if (cause === 'forbidden' && message) return message;
  const name = `lost${(cause ?? 'other').replace(/^./, (letter) => letter.toUpperCase())}`;
  return words(name in root().dataset ? name : 'lostOther', { name: by_name ?? by ?? '', note: note ?? '' });
}

/** Fills in the names and times of the lease. `told`: the page already shows that this person holds it. */
export function fillIn({ lease, user, moved, unsaved, told }) {
  const { lease: now, lost, turn } = lease ?? {};
  const holder = now?.holder ?? now?.offered_to;
  for (const place of all('#lock [data-holder]')) if (holder) place.textContent = fill(place.dataset.holder, 'name', holder.name);
  for (const place of all('#lock [data-since]')) if (now?.locked_at) place.textContent = time(now.locked_at);
  for (const place of all('#lock [data-locked]')) place.hidden = now?.state !== 'locked';
  for (const place of all('#lock [data-lost]')) place.textContent = lost ? whyLost(lost) : '';
  for (const place of all('#lock [data-elsewhere]')) {
    const text = moved ? words(moved.near ? 'movedNear' : 'movedFar', { at: time(moved.at) }) : place.dataset.elsewhere;
    if (place.textContent !== text) place.textContent = text;
  }
  for (const place of all('#lock [data-still]')) place.hidden = Boolean(moved);
  for (const place of all('#lock [data-moved]')) place.hidden = !moved;
  for (const place of all('#lock [data-kept]')) place.hidden = !unsaved;
  for (const place of all('#lock [data-waiting]')) tellWaiting(place, lease?.state === 'held' ? now.waiting : 0, told);
  for (const place of all('#lock [data-askers]')) list(place, askersOf(lease).map(asked));
  for (const place of all('#lock [data-asked-line]')) {
    const mine = now?.state === 'locked' && now.requests.find(({ by }) => by.id === user);
    place.hidden = !mine;
    place.textContent = mine ? answered(mine, now.holder) : '';
  }
  for (const place of all('#lock [data-turn]')) place.hidden = (place.dataset.turn === 'in') !== Boolean(turn);
  for (const place of all('#lock [data-position]')) {
    place.textContent = turn?.position === 1 ? place.dataset.next : fill(place.dataset.position, 'position', turn?.position ?? '');
  }
}

/** Shows how many people wait in line. Announces it once only, so that newcomers do not interrupt the holder. */
function tellWaiting(place, count, told) {
  const text = count === 1 ? place.dataset.one : fill(place.dataset.waiting, 'count', count);
  if (count && place.hidden && told) calmly.textContent = text;
  place.hidden = !count;
  if (place.textContent !== text) place.textContent = text;
}

/** Returns the release requests that were not declined. */
export const askersOf = (lease) => (lease?.lease?.requests ?? []).filter(({ declined_at }) => !declined_at);

/** Shows on the button that the claim was sent. The button stays enabled, because a disabled one would lose the focus. */
export function tellAsked(isAsked) {
  for (const button of all('#lock [data-do="claim"]')) {
    button.dataset.label ??= button.textContent;
    button.textContent = isAsked ? words('asking') : button.dataset.label;
    for (const name of ['aria-busy', 'aria-disabled']) {
      if (isAsked) button.setAttribute(name, 'true');
      else button.removeAttribute(name);
    }
  }
}

/** Shows that the task is being finalized. If the server has not answered `since` a time, shows that the result is unknown. */
export function tellFinishing(since) {
  const place = document.querySelector('[data-finishing]');
  if (!place) return;
  const text = since ? words('finishingSilent', { since: time(since) }) : place.dataset.finishing;
  place.classList.toggle('worry', Boolean(since));
  if (place.textContent === text) return;
  place.textContent = text;
  if (since) urgently.textContent = text;
}
