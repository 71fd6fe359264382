// Process mode: one task, its lines, and the lock without which nothing can be changed.
//
// The server makes the page and says what is stored; this file shows how the lock stands for *this* page and lets lines
// be edited exactly while it is held. Every change goes to the API with the fence, so a page that is wrong about its lock
// can spoil nothing. What somebody types is kept, whatever happens to the lock, until it is saved or discarded.

import { ConsoleTurno, Places, entitle, left } from './line.js';
import { all, answered, asked, calmly, fill, list, root, time, urgently, whyLost, words } from './said.js';
import { Drafts, amountOf, stored, values } from './typed.js';

/** A finalize of many lines takes its time. */
const FINALIZE_MS = 60_000;
/** What found no answer is tried again after this long. */
const RETRY_MS = 2_000;
/** Who has not answered for so long is said to be silent. */
const SILENT_MS = 4_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const { task, title, user } = root().dataset;
const path = `/v1/tasks/${task}`;
const turno = new ConsoleTurno({ language: document.documentElement.lang });
const places = new Places(user);
const drafts = new Drafts(`turno:typed:${user}:${task}`);
/** What is said under each line. */
const notes = new Map();
const saving = new Map();
/** The ownerships that this page has had. */
const own = new Set();
let lease = null;
let shown = null;
let warning = null;
let doubted = false;
let wasSilent = false;
let leaving = false;
let finishing = false;
/** It was finalized from here: that its lock is gone is no loss. */
let finished = false;

/** What went wrong, until it is mended: `kind` says by what. */
let troubled = null;

function trouble(text, kind = 'deed') {
  const place = document.querySelector('[data-trouble]');
  if (!place) return;
  troubled = text ? kind : null;
  place.hidden = !text;
  place.textContent = text ?? '';
}

/** Whether it can be had at once may be known only later, and changes. */
function tellMissed() {
  const text = words(lease?.lease?.state === 'free' ? 'missedFree' : 'missed');
  if (troubled !== 'missed' || document.querySelector('[data-trouble]')?.textContent !== text) trouble(text, 'missed');
}

// How it stands.

function view() {
  if (!lease) return null;
  if (finishing) return 'finishing';
  const { state } = lease;
  if (state === 'unknown') return doubted && !leaving ? 'unknown' : null;
  if (state === 'other' || (state === 'lost' && finished)) {
    return { locked: 'other', offered: 'reserved', free: 'free' }[lease.lease?.state] ?? 'free';
  }
  return state;
}

const editable = () => !finishing && lease?.state === 'held';

function show() {
  if (!root()) return;
  const now = view();
  if (now) {
    root().dataset.state = now;
    // From here on the lock is shown by this page, and not by what is read again.
    document.getElementById('lock')?.setAttribute('hx-morph-skip', '');
    const parts = new Set([now]);
    if (now === 'held' && warning) parts.add('warned');
    if (now === 'held' && askers().length) parts.add('requested');
    if (now === 'lost' && lease.lease?.state !== 'free' && !lease.lease?.mine) parts.add('lost-other');
    for (const part of all('[data-when]')) part.hidden = !parts.has(part.dataset.when);
  }
  // Only somebody who has it can be asked for it.
  const asked = lease?.lease ? lease.lease.state === 'locked' : true;
  for (const button of all('#lock [data-do]')) button.hidden = button.dataset.do === 'open-ask' && !asked;
  fillIn();
  if (troubled === 'missed') tellMissed();
  showLines();
  count();
  if (now && now !== shown) changed(now);
}

/** Names and times of the lease, wherever they are mentioned. */
function fillIn() {
  const { lease: now, lost, turn } = lease ?? {};
  const holder = now?.holder ?? now?.offered_to;
  for (const place of all('#lock [data-holder]')) if (holder) place.textContent = fill(place.dataset.holder, 'name', holder.name);
  for (const place of all('#lock [data-since]')) if (now?.locked_at) place.textContent = time(now.locked_at);
  for (const place of all('#lock [data-locked]')) place.hidden = now?.state !== 'locked';
  for (const place of all('#lock [data-lost]')) place.textContent = lost ? whyLost(lost) : '';
  for (const place of all('#lock [data-kept]')) place.hidden = drafts.size === 0;
  for (const place of all('#lock [data-askers]')) list(place, askers().map(asked));
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

/** Those who ask for it and were not answered. */
const askers = () => (lease?.lease?.requests ?? []).filter(({ declined_at }) => !declined_at);
/** What changes with the clock. */
function count() {
  const now = view();
  entitle(now === 'offered' ? words('offerTitle', { left: left(lease.offer_in_ms), title }) : null);
  for (const place of all('#lock [data-offer-left]')) place.textContent = words('offer', { left: left(lease?.offer_in_ms ?? 0) });
  const silent = turno.silent_ms;
  if (troubled === 'silence' && !silent) trouble(null);
  if (silent > SILENT_MS) document.dispatchEvent(new CustomEvent('turno:silent', { detail: { since: Date.now() - silent } }));
  else if (wasSilent) document.dispatchEvent(new CustomEvent('turno:answered'));
  wasSilent = silent > SILENT_MS;
  if (now !== 'held') return;
  const renewal = document.querySelector('[data-renewal]');
  if (renewal) {
    const worry = silent > SILENT_MS || !navigator.onLine;
    const until = time(Date.now() + lease.expires_in_ms);
    const text = worry ? words('silent', { since: time(Date.now() - silent), until }) : warning ? '' : words('renewing');
    if (renewal.textContent !== text) renewal.textContent = text;
    renewal.classList.toggle('worry', worry);
  }
  const place = document.querySelector('[data-warning]');
  if (warning && place) {
    const name = warning.reason === 'idle' ? 'warnIdle' : 'warnRolling';
    place.textContent = words(name, { left: left(warning.ends - performance.now()) });
    all('[data-when="warned"] [data-do="keep"]').forEach((button) => (button.hidden = warning.reason !== 'idle'));
  }
}

/** Another state: it is said, and whoever works with the keyboard is not left standing on something that is gone. */
function changed(now) {
  const before = shown;
  shown = now;
  const part = document.querySelector(`[data-when="${now}"]`);
  const said = [part?.querySelector('h2, .badge:not(:has([data-said]))'), part?.querySelector('[data-said]')];
  const text = said.map((one) => one?.textContent.trim()).filter(Boolean).join('. ');
  const urgent = now === 'lost' || now === 'unknown';
  // What was true before is not to be found beside it.
  (urgent ? calmly : urgently).textContent = '';
  if (before) (urgent ? urgently : calmly).textContent = text;
  // That a turn has passed is said of the state that follows.
  if (before && now !== 'lost' && troubled !== 'missed') trouble(null);
  const focused = document.activeElement;
  if (!before || (focused && focused !== document.body && focused.checkVisibility())) return;
  const next = now === 'held' ? document.querySelector('#process .amount :is(input, textarea)') : part?.querySelector('button');
  next?.focus();
}

// The lines.

const rowOf = (number) => document.getElementById(`line-${number}`);

function showLines() {
  const gone = lease && !['held', 'unknown'].includes(lease.state);
  for (const row of all('#process [data-line]')) {
    const field = amountOf(row);
    if (!field) continue;
    const number = Number(row.dataset.line);
    const draft = drafts.compare(number, field);
    if (draft ? field.value !== draft.typed : field.value !== field.defaultValue) field.value = draft?.typed ?? field.defaultValue;
    field.readOnly = !editable();
    const conflict = drafts.conflicts(number, field);
    // Nothing is tried again without the lock.
    if (gone && notes.get(number)?.name === 'retrying') notes.delete(number);
    let note = notes.get(number);
    if (conflict) note = { tone: 'warn', text: words(ownSave(draft) ? 'conflictMine' : 'conflict', { saved: field.defaultValue.replaceAll('\n', ', ') || '—' }) };
    else if (draft && !note) note = { tone: 'warn', text: words('unsaved') };
    tellNote(row, note);
    const tool = (name) => row.querySelector(`[data-do="${name}"]`);
    // What is being typed or saved is saved by itself: buttons that come and go would only be stumbled over.
    const flows = editable() && !conflict && draft?.fence === lease.fence;
    const calm = flows && (field === document.activeElement ? !note?.tone || note.text === words('unsaved') : note?.tone === '');
    tool('validate').hidden = !editable();
    tool('save').hidden = !draft || !editable() || calm;
    tool('discard').hidden = !draft || calm;
    row.classList.toggle('unsaved', Boolean(draft));
  }
  if (troubled === 'stuck' && ![...drafts.numbers()].some(rowOf)) trouble(null);
}

/** Under one ownership nobody saves but its owner. */
const ownSave = (draft) => Boolean(lease?.lease?.mine) && draft.fence === lease.lease.fence;

function tellNote(row, note) {
  const place = row.querySelector('.note');
  place.hidden = !note;
  place.className = `note ${note?.tone ?? ''}`;
  if (place.textContent !== (note?.text ?? '')) place.textContent = note?.text ?? '';
}

function note(number, tone, name, values) {
  if (name) notes.set(number, { tone, name, text: words(name, values) });
  else notes.delete(number);
  showLines();
}

/** Saves what was typed into a line, one save after the other; says whether nothing is left to be saved. */
function save(number) {
  const turn = (saving.get(number) ?? Promise.resolve()).then(() => saveNow(number));
  saving.set(number, turn);
  return turn;
}

/** What was typed and not saved, because nobody answered or the page was reloaded. What was typed under another ownership
 * needs a look first (`saveOwn`). */
function saveAll() {
  for (const number of drafts.numbers()) if (editable() && drafts.get(number).fence === lease.fence) void save(number);
}

/** What was typed here before this page lost the lock and took it again: saved at once where nobody has touched the line. */
async function saveOwn() {
  const older = [...drafts.numbers()].filter((number) => own.has(drafts.get(number).fence));
  if (!older.length || !editable()) return;
  // Asked for after the claim: from now on nobody else can change it.
  const { fence } = lease;
  const { lines } = await turno.call('GET', path);
  for (const { number, serials, quantity } of lines) {
    const untouched = drafts.get(number)?.base === stored({ serials, quantity });
    if (older.includes(number) && untouched && lease.fence === fence) drafts.adopt(number, fence);
  }
  saveAll();
}

async function saveNow(number) {
  const row = rowOf(number);
  const draft = drafts.get(number);
  if (!row || !draft) return true;
  // What another has saved meanwhile is overwritten only by somebody who was told of it and says so.
  if (!editable() || drafts.conflicts(number, amountOf(row))) return false;
  const body = values(row, draft.typed);
  if (body.wrong) {
    note(number, 'bad', body.wrong);
    return false;
  }
  const { typed } = draft;
  drafts.sent(number, typed);
  note(number, '', 'saving');
  try {
    const line = await turno.call('PATCH', `${path}/lines/${number}`, { fence: lease.fence, ...body });
    lease.worked();
    const kept = stored(line);
    drafts.saved(number, typed, kept);
    const field = amountOf(rowOf(number));
    if (field) field.defaultValue = kept;
    note(number, 'good', 'saved');
    return !drafts.get(number);
  } catch (error) {
    refused(number, error);
    return false;
  }
}

/** Why not, in the place where it was tried. */
function refused(number, error) {
  if (error.code === 'lease_lost') {
    note(number);
    lease.refresh().catch(() => {});
  } else if (error.status && error.status < 500 && error.status !== 429) {
    notes.set(number, { tone: 'bad', text: error.message });
    showLines();
  } else {
    note(number, 'warn', 'retrying');
    setTimeout(() => editable() && drafts.get(number) && void save(number), RETRY_MS);
  }
}

async function validate(number) {
  if (!(await save(number))) return;
  try {
    await turno.call('POST', `${path}/lines/${number}/validate`, { fence: lease.fence });
    lease.worked();
    note(number);
    calmly.textContent = words('validated', { line: number });
  } catch (error) {
    refused(number, error);
  }
  await read();
}

// What buttons do.

/** Reads the page again at once, as the console does whenever something happens. */
function read() {
  const address = location.pathname + location.search;
  const reading = window.htmx.ajax('GET', address, { target: '#live', select: '#live', swap: 'outerMorph', source: '#live' });
  return Promise.resolve(reading).catch(() => {});
}

async function finalize() {
  const saved = await Promise.all([...drafts.numbers()].filter(rowOf).map(save));
  if (saved.includes(false)) {
    trouble(words('stuck'), 'stuck');
    return document.querySelector('#process .unsaved :is(input, textarea)')?.focus();
  }
  const { fence } = lease;
  finishing = true;
  show();
  try {
    await insisted(() => turno.call('POST', `${path}/finalize`, { fence }, { timeout_ms: FINALIZE_MS }));
    finished = true;
    trouble(null);
    notes.clear();
    // The server has released it; this page forgets it.
    await lease.release().catch(() => {});
  } catch (error) {
    trouble(error.message);
    await lease.refresh().catch(() => {});
  }
  await read();
  finishing = false;
  show();
  const result = document.getElementById('result');
  if (!finished || !result) return;
  calmly.textContent = result.textContent.trim();
  result.focus();
}

/** Repeats what found no answer: the same finalize twice is one, and only its answer says what became of it. */
async function insisted(call) {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (error.status && error.status < 500) throw error;
      trouble(words('none'), 'silence');
      await pause(RETRY_MS);
    }
  }
}

async function claim() {
  await lease.claim();
  // Claiming may have made it a task in process; and what others did meanwhile is seen now.
  await read();
  await saveOwn();
}

async function ask(form) {
  const { told } = await lease.requestRelease(form.elements.message.value.trim() || null);
  form.closest('dialog').hidePopover();
  form.reset();
  await lease.refresh();
  if (!told) trouble(words('notAsked'));
}

async function release() {
  // What is on its way to be saved needs the lock.
  await Promise.allSettled(saving.values());
  leaving = true;
  const refusal = await lease.release().then(() => null, (error) => error);
  leaving = false;
  show();
  // Without an answer it is said again by itself, until there is one.
  if (refusal?.status && refusal.status < 500) throw refusal;
  if (refusal) trouble(words('leaving'), 'silence');
}

const DEEDS = {
  claim,
  release,
  finalize,
  keep: () => lease.keep(),
  'take-turn': () => lease.takeTurn(),
  'leave-turn': () => lease.leaveTurn(),
  'open-ask': () => document.getElementById('ask').showPopover(),
  'not-now': () => lease.declineRelease(),
  save: (number) => {
    // Whoever saves over what another has saved was told so, and means it.
    drafts.rebase(number, amountOf(rowOf(number)).defaultValue);
    return save(number);
  },
  discard: (number) => {
    drafts.delete(number);
    note(number);
    amountOf(rowOf(number)).focus();
  },
  validate,
};

/** One thing at a time: a second click while the first is on its way is none. */
const busy = new Set();

async function act(name, deed) {
  if (busy.has(name)) return;
  busy.add(name);
  trouble(null);
  try {
    await deed();
  } catch (error) {
    // Who has it is shown; why an answer says no otherwise is said.
    if (!error.status) trouble(words('none'), 'silence');
    else if (error.code !== 'lease_held' || view() === 'lost') trouble(error.message);
    if (error.code === 'wrong_status') await read();
  } finally {
    busy.delete(name);
    show();
  }
}

document.addEventListener('click', (event) => {
  const button = event.target.closest?.('[data-do]');
  if (!button || !lease) return;
  const number = Number(button.closest('[data-line]')?.dataset.line) || null;
  void act(`${button.dataset.do} ${number}`, () => DEEDS[button.dataset.do](number));
});

// An override from this page is one of this page: what is taken is held here.
const FORCED = { 'force-release': (reason) => lease.forceRelease(reason), 'force-claim': (reason) => lease.forceClaim(reason) };
document.addEventListener('submit', (event) => {
  const form = event.target;
  const dialog = form.closest('dialog');
  const forced = FORCED[dialog?.id];
  if (!lease || (!forced && form.dataset.form !== 'ask')) return;
  event.preventDefault();
  void act(dialog.id, async () => {
    if (!forced) return ask(form);
    await forced(form.elements.reason.value);
    dialog.hidePopover();
    form.reset();
    await read();
    await saveOwn();
  });
});

document.addEventListener('input', (event) => {
  const row = event.target.closest?.('#process [data-line]');
  if (!row || !editable()) return;
  const number = Number(row.dataset.line);
  drafts.type(number, event.target.value, event.target.defaultValue, lease.fence);
  note(number);
});
// Enter goes on to the next line, which saves this one; with Ctrl it finalizes.
document.addEventListener('keydown', (event) => {
  const field = event.target.closest?.('#process .amount :is(input, textarea)');
  if (event.key !== 'Enter' || event.isComposing || !field || !editable()) return;
  const all = event.ctrlKey || event.metaKey;
  if (!all && field.tagName === 'TEXTAREA') return;
  event.preventDefault();
  const fields = [...document.querySelectorAll('#process .amount :is(input, textarea)'), document.querySelector('[data-do="finalize"]')];
  (all ? fields.at(-1) : fields[fields.indexOf(field) + 1]).focus();
  if (all) fields.at(-1).click();
});
document.addEventListener('change', (event) => {
  const row = event.target.closest?.('#process [data-line]');
  if (row && lease) void save(Number(row.dataset.line));
});

// What the page is told.

// What concerns other tasks is none of this page's business.
document.addEventListener('turno:event', (event) => {
  const { resource } = event.detail.data;
  if (resource && resource !== `task:${task}`) event.preventDefault();
});
// What this file shows and enables, the page that is read again knows nothing about.
document.addEventListener('htmx:before:morph:attr', (event) => {
  if (lease && ['hidden', 'readonly'].includes(event.detail.attrName) && event.target.closest?.('#process')) event.preventDefault();
});
document.addEventListener('htmx:after:swap', () => {
  open();
  // The server is there: what it owed an answer to is asked again.
  if (wasSilent) lease?.refresh().catch(() => {});
  show();
});
addEventListener('beforeunload', (event) => {
  if (drafts.size && root()) event.preventDefault();
});
addEventListener('online', saveAll);
setInterval(count, 1_000);

/** A task may become one that can be processed, or cease to be, while somebody looks at it. */
function open() {
  const processable = root() && 'processable' in root().dataset;
  if (!processable && lease && !finishing) {
    lease.close();
    lease = null;
    shown = null;
  }
  if (!processable || lease) return;
  lease = turno.lease(`task:${task}`);
  const on = (name, heard) => lease.addEventListener(name, ({ detail }) => {
    heard(detail);
    show();
  });
  on('state', () => {
    if (lease.state !== 'unknown') doubted = false;
    // A beat that was answered with a no is mended by one that was not.
    if (lease.state === 'held' && troubled === 'beat') trouble(null);
    if (lease.state !== 'held') warning = null;
    places.set(task, lease.turn ? title : null);
  });
  on('held', () => {
    finished = false;
    own.add(lease.fence);
    saveAll();
  });
  on('idle-warning', (detail) => {
    warning = { ...detail, ends: performance.now() + detail.expires_in_ms };
    show();
    urgently.textContent = document.querySelector('[data-when="warned"] p')?.textContent ?? '';
  });
  on('active', () => {
    warning = null;
    urgently.textContent = '';
  });
  on('requested', (detail) => {
    show();
    urgently.textContent = asked(detail);
  });
  on('unknown', () => (doubted = true));
  on('turn', ({ missed }) => {
    places.set(task, lease.turn ? title : null);
    if (missed) tellMissed();
  });
  on('error', ({ error }) => trouble(error.message, 'beat'));
}

open();
show();
