// Places in line on all pages except that of the task: keeps the places, and shows an offer with the time that is left. The
// server knows the places; this tab knows the tasks to ask about.

import { ConsoleTurno, Places, entitle, left } from './line.js';

const host = document.getElementById('turns');
const places = new Places(host.dataset.user);
const own = document.getElementById('process')?.dataset.task;
const turno = new ConsoleTurno({ language: document.documentElement.lang });
const lines = new Map();
/** The rows of places that have ended and are still shown. */
const ended = new Set();
const fill = (name, values) =>
  Object.entries(values).reduce((text, [key, value]) => text.replace(`{${key}}`, () => value), host.dataset[name]);

function watch(task, title) {
  const lease = turno.lease(`task:${task}`);
  const line = { lease, title, element: row(task, title) };
  lines.set(task, line);
  // Shows why the place has ended, until the person opens another page.
  lease.addEventListener('turn', ({ detail }) => {
    if (!(detail.over || detail.missed) || !lines.delete(task)) return;
    places.set(task, null);
    line.element.hidden = false;
    line.element.classList.remove('offered');
    line.element.firstChild.textContent = host.dataset[detail.missed ? 'missed' : detail.over === 'cancelled' ? 'cancelled' : 'over'];
    queueMicrotask(() => lease.close());
    ended.add(line.element);
    show();
  });
  lease.addEventListener('state', () => {
    if (lease.state === 'unknown' || ended.has(line.element)) return;
    // The offer was taken, or the place was given up on another page.
    if (!lease.turn) {
      places.set(task, null);
      lines.delete(task);
      line.element.remove();
      lease.close();
    }
    show();
  });
}

function row(task, title) {
  const element = document.createElement('p');
  const link = document.createElement('a');
  link.href = `/tasks/${task}`;
  link.textContent = title;
  const said = document.createElement('span');
  element.append(said, ' ', link);
  host.append(element);
  return element;
}

function show() {
  let offered = null;
  for (const { lease, title, element } of lines.values()) {
    const mine = lease.state === 'offered';
    const time = left(lease.offer_in_ms);
    if (mine) offered ??= fill('title', { left: time, title });
    element.hidden = !lease.turn;
    element.classList.toggle('offered', mine);
    const text = mine ? fill('offered', { left: time }) : fill('waiting', { place: lease.turn?.position ?? '' });
    if (element.firstChild.textContent !== text) element.firstChild.textContent = text;
  }
  host.hidden = !ended.size && [...lines.values()].every(({ lease }) => !lease.turn);
  if (!own) entitle(offered);
}

const about = document.getElementById('live')?.dataset.live ?? '';
for (const [task, title] of places.all()) if (task !== own) watch(task, title);
if (lines.size && about && !about.includes('leases')) {
  // The stream of the page also brings events of leases, which are no reason to read the page again.
  host.dataset.live = 'leases';
  document.addEventListener('turno:event', (event) => {
    if (event.detail.name.startsWith('lease.')) event.preventDefault();
  });
}
if (lines.size) setInterval(show, 1_000);
// Without a session this page can neither keep nor show a place.
document.addEventListener('turno:ended', () => {
  for (const { lease } of lines.values()) lease.close();
  host.hidden = true;
  lines.clear();
});
