// Places in line, on every page but the task's own: they are kept while somebody looks around, and an offer is told
// wherever they are, with the time that is left. The server knows the places; this tab knows which tasks to ask about.

import { ConsoleTurno, Places, entitle, left } from './line.js';

const host = document.getElementById('turns');
const places = new Places(host.dataset.user);
const own = document.getElementById('process')?.dataset.task;
const turno = new ConsoleTurno({ language: document.documentElement.lang });
const lines = new Map();
const fill = (name, values) =>
  Object.entries(values).reduce((text, [key, value]) => text.replace(`{${key}}`, value), host.dataset[name]);

function watch(task, title) {
  const lease = turno.lease(`task:${task}`);
  const line = { lease, title, element: row(task, title) };
  lines.set(task, line);
  lease.addEventListener('state', () => {
    if (lease.state === 'unknown') return;
    // Taken, missed, or given up elsewhere.
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
  element.append(link, ' ', said);
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
    if (element.lastChild.textContent !== text) element.lastChild.textContent = text;
  }
  host.hidden = lines.size === 0 || [...lines.values()].every(({ lease }) => !lease.turn);
  if (!own) entitle(offered);
}

const about = document.getElementById('live')?.dataset.live ?? '';
for (const [task, title] of places.all()) if (task !== own) watch(task, title);
if (lines.size && about && !about.includes('leases')) {
  // The page's one stream brings leases along; they are no reason to read the page again.
  host.dataset.live = 'leases';
  document.addEventListener('turno:event', (event) => {
    if (event.detail.name.startsWith('lease.')) event.preventDefault();
  });
}
if (lines.size) setInterval(show, 1_000);
