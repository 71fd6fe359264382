// Process mode: one task, its lines, and the lock without which nothing can be changed.
//
// The server makes the page and says what is stored; this file shows how the lock stands for *this* page and lets lines
// be edited exactly while it is held. Every change goes to the API with the fence, so a page that is wrong about its lock
// can spoil nothing. What somebody types is kept, whatever happens to the lock, until it is saved or discarded.

import { keepFocus } from './focus.js';
import { ConsoleTurno, Places, entitle, left } from './line.js';
import { Lines } from './lines.js';
import { readPage } from './reading.js';
import { all, asked, askersOf, calmly, fillIn, root, tellAsked, tellFinishing, timeWithin, urgently, words } from './said.js';
import { forgetSaved } from './typed.js';

/** A finalize of many lines takes its time. */
const FINALIZE_MS = 60_000;
/** A finalize that found no answer is sent again after this long. */
const RETRY_MS = 2_000;
/** Who has not answered for so long is said to be silent. */
const SILENT_MS = 4_000;

/** What takes longer than this is said to be awaited. */
const PATIENCE_MS = 1_000;
/** An answer that takes longer than this is said to take long. */
const SLOW_MS = 2_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const { task, title, user } = root().dataset;
const path = `/v1/tasks/${task}`;
forgetSaved(user);
const turno = new ConsoleTurno({ language: document.documentElement.lang });
const places = new Places(user);
let lease = null;
let shown = null;
let doubted = false;
let wasSilent = false;
let leaving = false;
let finishing = false;
/** It was finalized from here: that its lock is gone is no loss. */
let finished = false;
/** Since when a finalize has been waiting for its answer in vain. */
let unanswered = null;
/** It was given back so that this person can sign out. */
let signedOut = false;
/** The session was ended, and not by this page: nothing can be known or saved here any more. */
let ended = false;
/** Another window of this person goes on: since when, and whether it is one of this browser. */
let moved = null;

/** This person stood in line when the task ended. */
let waited = false;

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
  if (ended) return 'ended';
  if (finishing) return 'finishing';
  const { state } = lease;
  if (state === 'unknown') return doubted && !leaving ? 'unknown' : null;
  if (state === 'other' || (state === 'lost' && finished)) {
    return { locked: 'other', offered: 'reserved', free: 'free' }[lease.lease?.state] ?? 'free';
  }
  return state;
}

const editable = () => !finishing && !ended && lease?.state === 'held';
const lines = new Lines({
  turno,
  task,
  user,
  lease: () => lease,
  editable,
  shown: () => troubled === 'stuck' && !lines.unsaved && trouble(null),
  changed: () => show(),
  read: readPage,
});

function show() {
  if (!root()) return;
  const now = view();
  if (now) {
    root().dataset.state = now;
    // From here on the lock is shown by this page, and not by what is read again.
    document.getElementById('lock')?.setAttribute('hx-morph-skip', '');
    const parts = new Set([now]);
    if (now === 'held' && lease.warning && !worried()) parts.add('warned');
    if (now === 'held' && askersOf(lease).length) parts.add('requested');
    if (now === 'lost' && lease.lease?.state !== 'free' && !lease.lease?.mine) parts.add('lost-other');
    for (const part of all('[data-when]')) part.hidden = !parts.has(part.dataset.when);
  }
  // Only somebody who has it can be asked for it.
  const asked = lease?.lease ? lease.lease.state === 'locked' : true;
  for (const button of all('#lock [data-do]')) button.hidden = button.dataset.do === 'open-ask' && !asked;
  fillIn({ lease, user, moved, unsaved: lines.unsaved, told: shown === 'held' });
  if (troubled === 'missed') tellMissed();
  lines.show();
  count();
  keepFocus(onwards);
  if (now && now !== shown) changed(now);
}

/** Nobody answers: what is known of the lock is said by the silence, and no key can keep anything. */
const worried = () => turno.silent_ms >= SILENT_MS || !navigator.onLine;

/** What changes with the clock. */
function count() {
  const now = view();
  entitle(now === 'offered' ? words('offerTitle', { left: left(lease.offer_in_ms), title }) : null);
  for (const place of all('#lock [data-offer-left]')) place.textContent = words('offer', { left: left(lease?.offer_in_ms ?? 0) });
  const silent = turno.silent_ms;
  if (troubled === 'silence' && !silent) trouble(null);
  if (silent >= SILENT_MS) document.dispatchEvent(new CustomEvent('turno:silent', { detail: { since: Date.now() - silent } }));
  else if (wasSilent) document.dispatchEvent(new CustomEvent('turno:answered'));
  wasSilent = silent >= SILENT_MS;
  if (now === 'finishing') tellFinishing(unanswered ?? (silent >= SILENT_MS ? Date.now() - silent : null));
  if (now !== 'held') return;
  const renewal = document.querySelector('[data-renewal]');
  if (renewal) {
    const worry = worried();
    const at = (ms) => timeWithin(lease.lease.policy.ttl_ms, Date.now() + ms);
    const text = worry ? words('silent', { since: at(-silent), until: at(lease.expires_in_ms) }) : lease.warning ? '' : words('renewing');
    if (renewal.textContent !== text) renewal.textContent = text;
    renewal.classList.toggle('worry', worry);
  }
  const place = document.querySelector('[data-warning]');
  const { reason, expires_in_ms } = lease.warning ?? {};
  for (const part of all('[data-when="warned"]')) part.hidden = !reason || worried();
  if (reason && place) {
    place.textContent = words(reason === 'idle' ? 'warnIdle' : 'warnRolling', { left: left(expires_in_ms) });
    all('[data-when="warned"] [data-do="keep"]').forEach((button) => (button.hidden = reason !== 'idle'));
  }
}

/** Another state: it is said, and whoever works with the keyboard is not left standing on something that is gone. */
function changed(now) {
  const before = shown;
  shown = now;
  const part = document.querySelector(`[data-when="${now}"]`);
  const said = [part?.querySelector('h2, .badge:not(:has([data-said]))'), part?.querySelector('[data-said]')];
  const text = said.map((one) => one?.innerText.trim()).filter(Boolean).join('. ');
  const urgent = ['lost', 'unknown', 'ended'].includes(now);
  // What was true before is not to be found beside it.
  (urgent ? calmly : urgently).textContent = '';
  if (before) (urgent ? urgently : calmly).textContent = text;
  // That a turn has passed is said of the state that follows.
  if (before && now !== 'lost' && troubled !== 'missed') trouble(null);
}

/** Where to go on when the control that was used is gone. */
const TAKE = '[data-do="take-turn"]';
const AFTER = { 'take-turn': '[data-do="leave-turn"]', 'leave-turn': TAKE, 'pass-turn': TAKE, finalize: '#result' };

function onwards({ does, line }) {
  const seen = (selector) => all(selector).filter((one) => one.checkVisibility() && !one.readOnly);
  const [after] = AFTER[does] ? seen(`#process ${AFTER[does]}`) : [];
  const [own] = line ? seen(`#line-${line} .amount :is(input, textarea)`) : [];
  return after ?? own ?? seen('#process .amount :is(input, textarea)')[0] ?? seen('#lock button, #result')[0];
}

// What is done with lines.

async function validate(number) {
  if (!(await lines.save(number))) return;
  try {
    await turno.call('POST', `${path}/lines/${number}/validate`, { fence: lease.fence });
    lease.worked();
    lines.note(number);
    calmly.textContent = words('validated', { line: number });
  } catch (error) {
    // What was typed is saved; only whether it is validated is not known.
    if (silence(error)) lines.note(number, 'warn', 'validateNone');
    else lines.refused(number, error);
  }
  await readPage();
}

/** Nobody has answered, or nobody who knows. */
const silence = ({ status }) => !status || status >= 500;

// What buttons do.

async function finalize() {
  const stuck = await lines.saveEverything();
  if (stuck) {
    trouble(words(stuck.why ? 'stuckLine' : 'stuck', stuck), 'stuck');
    return stuck.field?.focus();
  }
  const { fence } = lease;
  finishing = true;
  unanswered = null;
  show();
  try {
    await insisted(() => turno.call('POST', `${path}/finalize`, { fence }, { timeout_ms: FINALIZE_MS }));
    finished = true;
    trouble(null);
    lines.quiet();
    // The server has released it; this page forgets it.
    await lease.release().catch(() => {});
  } catch (error) {
    trouble(error.message);
    await lease.refresh().catch(() => {});
  }
  await readPage();
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
      if (!silence(error)) throw error;
      unanswered ??= Date.now();
      count();
      await pause(RETRY_MS);
    }
  }
}

async function claim() {
  tellAsked(true);
  await lease.claim().finally(() => tellAsked(false));
  // Claiming may have made it a task in process; and what others did meanwhile is seen now.
  await readPage();
  await lines.saveOwn();
}

async function ask(form) {
  const { told } = await lease.requestRelease(form.elements.message.value.trim() || null);
  form.closest('dialog').hidePopover();
  form.reset();
  await lease.refresh();
  if (!told) trouble(words('notAsked'));
}

/** What was typed needs the lock: it is given back when that has been answered, and until then it is said what is awaited. */
async function savedFirst() {
  const told = setTimeout(() => trouble(words('leavingSave'), 'leaving'), PATIENCE_MS);
  try {
    while (await lines.saveSendable()) {
      trouble(words('leavingSave'), 'leaving');
      await pause(RETRY_MS);
    }
  } finally {
    clearTimeout(told);
    if (troubled === 'leaving') trouble(null);
  }
}

async function release() {
  await savedFirst();
  leaving = true;
  const told = setTimeout(() => trouble(words('leaving'), 'silence'), PATIENCE_MS);
  const refusal = await lease.release().then(() => null, (error) => error);
  clearTimeout(told);
  leaving = false;
  show();
  // Without an answer it is said again by itself, until there is one.
  if (refusal?.status && refusal.status < 500) throw refusal;
  if (refusal) trouble(words('leaving'), 'silence');
}

/** Without a session nobody can give anything back: first the lock, then the session. */
async function signOut(form) {
  if (lease.state === 'held') {
    await savedFirst();
    const field = lines.left;
    if (field && !confirm(words('signOutUnsaved'))) return field.focus();
    await lease.release();
  }
  lines.abandon();
  signedOut = true;
  // A form does not send itself once more while it is asked whether it may.
  setTimeout(() => form.requestSubmit());
}

const DEEDS = {
  claim,
  release,
  finalize,
  keep: () => lease.keep(),
  'take-turn': () => lease.takeTurn(),
  'leave-turn': () => lease.leaveTurn(),
  'pass-turn': () => lease.leaveTurn(),
  'open-ask': () => document.getElementById('ask').showPopover(),
  'not-now': () => lease.declineRelease(),
  save: (number) => lines.insist(number),
  discard: (number) => lines.discard(number),
  validate,
};

/** One thing at a time: a second click while the first is on its way is none. */
const busy = new Set();

/** Whoever waits is told that the server is what they wait for, unless something else says so already. */
const tellSlow = () => troubled || finishing || trouble(words('slow'), 'silence');

async function act(name, deed) {
  if (busy.has(name)) return;
  busy.add(name);
  trouble(null);
  const slow = setTimeout(tellSlow, SLOW_MS);
  try {
    await deed();
  } catch (error) {
    // Who has it is shown, and that the session has ended; why an answer says no otherwise is said.
    if (ended) return;
    if (!error.status) trouble(words('none'), 'silence');
    else if (error.code !== 'lease_held' || view() === 'lost') trouble(error.message);
    if (error.code === 'wrong_status') await readPage();
  } finally {
    clearTimeout(slow);
    busy.delete(name);
    show();
  }
}

document.addEventListener('click', (event) => {
  const button = event.target.closest?.('[data-do]');
  if (!button || !lease) return;
  const number = Number(button.closest('[data-line]')?.dataset.line) || null;
  const name = button.dataset.do;
  void act(`${name} ${number}`, () => DEEDS[name](number));
});

// An override from this page is one of this page: what is taken is held here.
const FORCED = { 'force-release': 'forceRelease', 'force-claim': 'forceClaim' };
/** Whom it is meant for: who had it when somebody began to decide. Whoever has it by then is left alone. */
let meant = {};
document.addEventListener('beforetoggle', ({ target: dialog, newState }) => {
  if (newState !== 'open' || !FORCED[dialog.id]) return;
  // Before the first answer it is as the page came: it says who had it, and under which fence.
  const came = dialog.querySelector('[name="fence"]');
  if (!lease?.lease) return (meant = came ? { fence: Number(came.value) } : {});
  const { state, holder, fence } = lease.lease;
  meant = state === 'locked' ? { fence } : {};
  const name = FORCED[dialog.id];
  dialog.querySelector('h2').textContent = state === 'locked' ? words(name, { name: holder.name }) : words(`${name}Nobody`);
}, { capture: true });
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (lease && !signedOut && form.getAttribute('action') === '/sign-out') {
    event.preventDefault();
    return void act('sign-out', () => signOut(form));
  }
  const dialog = form.closest('dialog');
  const forced = FORCED[dialog?.id];
  if (!lease || (!forced && form.dataset.form !== 'ask')) return;
  event.preventDefault();
  void act(dialog.id, async () => {
    if (!forced) return ask(form);
    const refusal = await lease[forced](form.elements.reason.value, meant).then(() => null, (error) => error);
    if (refusal && refusal.code !== 'lease_held') throw refusal;
    dialog.hidePopover();
    form.reset();
    if (refusal) return trouble(words('changedHands', { name: refusal.problem?.holder?.name ?? '' }));
    await readPage();
    await lines.saveOwn();
  });
});

document.addEventListener('keydown', (event) => Lines.keys(event, editable()));

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
// Whoever may not process it any more would lose the fields with all that is typed in them, and be left with a lock that
// nobody renews. The page stays as it is; the lease says at the next beat that it is not theirs, and why.
document.addEventListener('htmx:before:swap', (event) => {
  const read = event.detail.ctx?.text ?? '';
  const working = lease && (['held', 'unknown', 'lost'].includes(lease.state) || lines.unsaved);
  if (working && read.includes('id="lock"') && !read.includes('data-processable')) event.preventDefault();
});
document.addEventListener('htmx:after:swap', () => {
  open();
  // The server is there: what it owed an answer to is asked again.
  if (wasSilent) lease?.refresh().catch(() => {});
  show();
});
document.addEventListener('turno:ended', () => {
  ended = true;
  trouble(null);
  lease?.close();
  // It stays in the fields, to be read and copied, and in the browser: nobody is held back for it.
  lines.abandon();
  show();
});
setInterval(count, 1_000);

/** Whoever waited for what has ended is told so: nobody will call them. */
function tellOver() {
  const place = document.getElementById('over');
  if (!place || !waited || !place.hidden) return;
  places.set(task, null);
  place.hidden = false;
  calmly.textContent = place.textContent;
}

/** A task may become one that can be processed, or cease to be, while somebody looks at it. */
function open() {
  const processable = root() && 'processable' in root().dataset;
  if (!processable && lease && !finishing) {
    waited ||= Boolean(lease.turn);
    lease.close();
    lease = null;
    shown = null;
  }
  tellOver();
  if (!processable || lease) return;
  // Fields that two windows of one person could write into would write over each other.
  lease = turno.lease(`task:${task}`, { single: true });
  const on = (name, heard) => lease.addEventListener(name, ({ detail }) => {
    heard(detail);
    show();
  });
  on('state', () => {
    if (lease.state !== 'unknown') doubted = false;
    // A beat that was answered with a no is mended by one that was not.
    if (lease.state === 'held' && troubled === 'beat') trouble(null);
    if (!['elsewhere', 'unknown'].includes(lease.state)) moved = null;
    places.set(task, lease.turn ? title : null);
  });
  on('held', () => {
    finished = false;
    lines.held(lease.fence);
  });
  on('idle-warning', () => {
    show();
    urgently.textContent = document.querySelector('[data-when="warned"] p')?.textContent ?? '';
  });
  on('active', () => (urgently.textContent = ''));
  on('requested', (detail) => {
    show();
    urgently.textContent = asked(detail);
  });
  on('moved', ({ near }) => {
    moved = { near, at: Date.now() };
    show();
    calmly.textContent = document.querySelector('[data-when="elsewhere"] p')?.innerText ?? '';
  });
  // An answer that comes in a moment needs no words.
  on('unknown', () => setTimeout(() => {
    doubted = lease?.state === 'unknown';
    if (doubted) show();
  }, PATIENCE_MS));
  on('turn', ({ missed, over }) => {
    places.set(task, lease.turn ? title : null);
    if (missed) tellMissed();
    waited = Boolean(over);
  });
  on('error', ({ error }) => trouble(error.message, 'beat'));
}

open();
show();
