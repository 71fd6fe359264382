// The form of a draft: adds lines and keeps unsaved text.
//
// Typed text is kept in this browser (typed.js) until it is saved or discarded. Without this file the form works; saving
// adds empty lines.

import { Turno } from '/turno.js';
import { slotOf } from './slot.js';
import { Drafts, forgetSaved, keptAs } from './typed.js';

const form = document.getElementById('draft');
const rows = document.getElementById('rows');
const more = document.getElementById('more');
const kept = document.getElementById('kept');
const unsent = document.getElementById('unsent');
const { user } = form.dataset;

function add() {
  const row = rows.lastElementChild.cloneNode(true);
  for (const field of row.querySelectorAll('input, textarea')) {
    field.value = '';
    for (const name of ['aria-invalid', 'aria-describedby', 'autofocus']) field.removeAttribute(name);
  }
  for (const field of row.querySelectorAll('select')) field.selectedIndex = 0;
  rows.append(row);
  return row;
}

more.hidden = false;
more.addEventListener('click', () => add().querySelector('input').focus());

// Typed text.

const fieldsOf = (row) => [...row.querySelectorAll('[name]')];
/** Whether a row has content. Empty rows are ignored. */
const said = (row) => row.some(([name, value]) => ['sku', 'amount'].includes(name) && value.trim());
const written = () => ({
  title: form.elements.title.value,
  rows: [...rows.children].map((row) => fieldsOf(row).map(({ name, value }) => [name, value])).filter(said),
  seen: form.elements.seen?.value ?? null,
});
const same = (one, other) => JSON.stringify([one.title, one.rows]) === JSON.stringify([other.title, other.rows]);

/** The form is kept as a whole, under the number of a line that does not exist. */
const FORM = 0;
forgetSaved(user);
const stored = written();
const isNew = form.dataset.kept === 'draft-new';
const slot = isNew ? await slotOf(user, keptAs(user, 'draft-new')) : form.dataset.kept;
// The server names the saved slot in a cookie, so that its text is deleted.
if (isNew) form.append(Object.assign(document.createElement('input'), { type: 'hidden', name: 'kept', value: slot }));
const drafts = new Drafts(user, slot, () => {});
let sending = false;

/** Whether the form has unsaved text. A form that the server refused is not stored either. */
const unsaved = () => 'returned' in form.dataset || !same(written(), stored);

function keep(ended = false) {
  if (unsaved()) drafts.type(FORM, { ...written(), ended }, null, null);
  else drafts.delete(FORM);
}

function write({ title, rows: lines, seen }) {
  form.elements.title.value = title;
  while (rows.children.length < lines.length) add();
  [...rows.children].forEach((row, index) => {
    const values = new Map(lines[index] ?? []);
    for (const field of fieldsOf(row)) {
      if (field.tagName === 'SELECT') field.value = values.get(field.name) ?? field.options[0].value;
      else field.value = values.get(field.name) ?? '';
    }
  });
  // The text belongs to the version that was stored then. The server compares the version when it is saved.
  if (seen && form.elements.seen) form.elements.seen.value = seen;
}

function restore() {
  const typed = drafts.get(FORM)?.typed;
  // A refused form comes back with the newest text, and text that was typed before this file was loaded is newer, too.
  if ('returned' in form.dataset || unsaved()) return keep();
  if (!typed || same(typed, stored)) return drafts.delete(FORM);
  write(typed);
  kept.querySelector('span').textContent = typed.ended ? form.dataset.ended : form.dataset.restored;
  kept.hidden = false;
  keep();
}

kept.querySelector('button').addEventListener('click', () => {
  write(stored);
  drafts.delete(FORM);
  kept.hidden = true;
  form.elements.title.focus();
});
// The person chose to load the stored version, so the typed text is deleted.
document.querySelector('#stored a.button')?.addEventListener('click', () => {
  sending = true;
  drafts.delete(FORM);
});
for (const name of ['input', 'change']) form.addEventListener(name, () => keep());
addEventListener('beforeunload', (event) => {
  if (!sending && unsaved()) event.preventDefault();
});
// The browser shows the page again after going back.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) sending = false;
});

// Saving. First asks whether the server answers, because the error page of the browser would replace the form.

const server = new Turno();
let asking = false;

function tell(text) {
  unsent.textContent = text;
  unsent.hidden = !text;
}

form.addEventListener('submit', (event) => {
  if (sending) return;
  event.preventDefault();
  if (!asking) void send(event.submitter);
});

async function send(button) {
  asking = true;
  keep();
  tell('');
  form.setAttribute('aria-busy', 'true');
  try {
    await server.call('GET', '/v1/me');
  } catch (error) {
    if (!error.status || error.status >= 500) return tell(form.dataset.none);
    // The server shows the sign-in page, which leads back to this form.
    if (error.status === 401) keep(true);
  } finally {
    asking = false;
    form.removeAttribute('aria-busy');
  }
  sending = true;
  form.requestSubmit(button);
}

// Shows while the person types that another person has saved the draft, and not only when they save.

const LOOK_MS = 10_000;
const newer = document.getElementById('newer');

async function look() {
  if (document.hidden || sending) return;
  const { status, version } = await server.call('GET', `/v1/tasks/${newer.dataset.task}`);
  const changed = BigInt(`0x${version}`) !== BigInt(form.elements.seen.value);
  const text = status !== 'draft' ? newer.dataset.over : changed ? newer.dataset.changed : '';
  if (newer.textContent !== text) newer.textContent = text;
  newer.hidden = !text;
}

if (newer) setInterval(() => look().catch(() => {}), LOOK_MS);
restore();
