// Process mode: one task, its lines, and the lock that is needed to change them.
//
// The server renders the page with the stored values. This file shows the state of the lock for *this* page, and lines can
// be edited only while the lock is held. Every change goes to the API with the fence, so a page that is wrong about its
// lock changes nothing. Typed text is kept, whatever happens to the lock, until it is saved or discarded.

import { keepFocus } from './focus.js';
import { ConsoleTurno, Places, entitle, left } from './line.js';
import { Lines } from './lines.js';
import { readPage } from './reading.js';
import './select.js';
import { all, asked, askersOf, calmly, fillIn, root, tellAsked, tellFinishing, timeWithin, urgently, words } from './said.js';
import { forgetSaved } from './typed.js';

/** The time limit of a finalize; many lines take long. */
const FINALIZE_MS = 60_000;
/** A finalize without an answer is sent again after this long. */
const RETRY_MS = 2_000;
/** After this long without an answer, the page shows that the server is silent. */
const SILENT_MS = 4_000;

/** If something takes longer than this, the page shows what it waits for. */
const PATIENCE_MS = 1_000;
/** If an answer takes longer than this, the page shows that the server is slow. */
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
/** This page finalized the task, so the end of its lock is not a loss. */
let finished = false;
/** Since when a finalize has had no answer. */
let unanswered = null;
/** The lock was released so that this person can sign out. */
let signedOut = false;
/** The session ended, and not by this page: the page can neither read nor save any more. */
let ended = false;
/** Another window of this person holds the lock: since when (`at`), and whether it is in this browser (`near`). */
let moved = null;

/** This person was in line when the task ended. */
let waited = false;

/** The kind of the error that is shown; it decides what removes the error. */
let troubled = null;

function trouble(text, kind = 'deed') {
  const place = document.querySelector('[data-trouble]');
  if (!place) return;
  troubled = text ? kind : null;
  place.hidden = !text;
  place.textContent = text ?? '';
}

/** Shows that the turn was missed, and whether the task is free. That can change, so it is shown anew with each state. */
function tellMissed() {
  const text = words(lease?.lease?.state === 'free' ? 'missedFree' : 'missed');
  if (troubled !== 'missed' || document.querySelector('[data-trouble]')?.textContent !== text) trouble(text, 'missed');
}

// The state of the lock.

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
    // From now on this file shows the lock, and reading the page again must not overwrite it.
    document.getElementById('lock')?.setAttribute('hx-morph-skip', '');
    const parts = new Set([now]);
    if (now === 'held' && lease.warning && !worried()) parts.add('warned');
    if (now === 'held' && askersOf(lease).length) parts.add('requested');
    if (now === 'lost' && lease.lease?.state !== 'free' && !lease.lease?.mine) parts.add('lost-other');
    for (const part of all('[data-when]')) part.hidden = !parts.has(part.dataset.when);
  }
  // A free lease has no holder to ask.
  const asked = lease?.lease ? lease.lease.state === 'locked' : true;
  for (const button of all('#lock [data-do]')) button.hidden = button.dataset.do === 'open-ask' && !asked;
  fillIn({ lease, user, moved, unsaved: lines.unsaved, told: shown === 'held' });
  if (troubled === 'missed') tellMissed();
  lines.show();
  count();
  keepFocus(onwards);
  if (now && now !== shown) changed(now);
}

/** Whether the server is silent. Then no warning is shown, because no key press could keep the lock. */
const worried = () => turno.silent_ms >= SILENT_MS || !navigator.onLine;

/** Shows what changes with the clock. */
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

/** Announces a new state to screen readers. */
function changed(now) {
  const before = shown;
  shown = now;
  const part = document.querySelector(`[data-when="${now}"]`);
  const said = [part?.querySelector('h2, .badge:not(:has([data-said]))'), part?.querySelector('[data-said]')];
  const text = said.map((one) => one?.innerText.trim()).filter(Boolean).join('. ');
  const urgent = ['lost', 'unknown', 'ended'].includes(now);
  // Removes the announcement of the state before.
  (urgent ? calmly : urgently).textContent = '';
  if (before) (urgent ? urgently : calmly).textContent = text;
  // A missed turn is shown together with the state that follows it.
  if (before && now !== 'lost' && troubled !== 'missed') trouble(null);
}

/** Where the focus goes when the control that was used disappears. */
const TAKE = '[data-do="take-turn"]';
const AFTER = { 'take-turn': '[data-do="leave-turn"]', 'leave-turn': TAKE, 'pass-turn': TAKE, finalize: '#result' };

function onwards({ does, line }) {
  const seen = (selector) => all(selector).filter((one) => one.checkVisibility() && !one.readOnly);
  const [after] = AFTER[does] ? seen(`#process ${AFTER[does]}`) : [];
  const [own] = line ? seen(`#line-${line} .amount :is(input, textarea)`) : [];
  return after ?? own ?? seen('#process .amount :is(input, textarea)')[0] ?? seen('#lock button, #result')[0];
}

// Lines.

async function validate(number) {
  if (!(await lines.save(number))) return;
  try {
    await turno.call('POST', `${path}/lines/${number}/validate`, { fence: lease.fence });
    lease.worked();
    lines.note(number);
    calmly.textContent = words('validated', { line: number });
  } catch (error) {
    // The text is saved; only whether the line is validated is unknown.
    if (silence(error)) lines.note(number, 'warn', 'validateNone');
    else lines.refused(number, error);
  }
  await readPage();
}

/** Whether a request had no answer, or one that says nothing about its effect. */
const silence = ({ status }) => !status || status >= 500;

// Buttons.

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
    // The server has released the lock, and this page forgets it.
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

/** Repeats a finalize until it is answered. Repeating is safe, because the server applies the same finalize once. */
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
  // The claim may have changed the status of the task, and others may have changed its lines.
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

/** Saves the typed text before the lock is released, because saving needs the lock. Shows meanwhile what it waits for. */
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
  // Without an answer the lease sends the release again by itself.
  if (refusal?.status && refusal.status < 500) throw refusal;
  if (refusal) trouble(words('leaving'), 'silence');
}

/** Releases the lock before signing out, because a release needs the session. */
async function signOut(form) {
  if (lease.state === 'held') {
    await savedFirst();
    const field = lines.left;
    if (field && !confirm(words('signOutUnsaved'))) return field.focus();
    await lease.release();
  }
  lines.abandon();
  signedOut = true;
  // A form cannot be submitted again while its `submit` event is handled.
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

/** The actions under way. A second click on the same button is ignored meanwhile. */
const busy = new Set();

/** Shows that the server is slow, unless another message is shown. */
const tellSlow = () => troubled || finishing || trouble(words('slow'), 'silence');

async function act(name, deed) {
  if (busy.has(name)) return;
  busy.add(name);
  trouble(null);
  const slow = setTimeout(tellSlow, SLOW_MS);
  try {
    await deed();
  } catch (error) {
    // The page already shows the holder and the end of the session. Other refusals are shown as an error.
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

// The dialogs of an override go through the lease of this page, so that this page holds the lock that it takes.
const FORCED = { 'force-release': 'forceRelease', 'force-claim': 'forceClaim' };
/** The fence of the holder who was shown when the dialog opened. An override of a later holder is refused. */
let meant = {};
document.addEventListener('beforetoggle', ({ target: dialog, newState }) => {
  if (newState !== 'open' || !FORCED[dialog.id]) return;
  // Before the first answer, the page itself contains the fence of the holder that it shows.
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

// Events.

// Events of other tasks do not concern this page.
document.addEventListener('turno:event', (event) => {
  const { resource } = event.detail.data;
  if (resource && resource !== `task:${task}`) event.preventDefault();
});
// This file decides what is hidden and read-only, so reading the page again must not change that.
document.addEventListener('htmx:before:morph:attr', (event) => {
  if (lease && ['hidden', 'readonly'].includes(event.detail.attrName) && event.target.closest?.('#process')) event.preventDefault();
});
// If the person may no longer process the task, the page that was read has no fields, and the typed text would be lost with
// them. So the page stays as it is. The next heartbeat reports the loss of the lock and its reason.
document.addEventListener('htmx:before:swap', (event) => {
  const read = event.detail.ctx?.text ?? '';
  const working = lease && (['held', 'unknown', 'lost'].includes(lease.state) || lines.unsaved);
  if (working && read.includes('id="lock"') && !read.includes('data-processable')) event.preventDefault();
});
document.addEventListener('htmx:after:swap', () => {
  open();
  // The server answers again, so the state of the lease is read again.
  if (wasSilent) lease?.refresh().catch(() => {});
  show();
});
document.addEventListener('turno:ended', () => {
  ended = true;
  trouble(null);
  lease?.close();
  // The text stays in the fields and in the browser, so the person is not asked before leaving the page.
  lines.abandon();
  show();
});
setInterval(count, 1_000);

/** Tells a person who was in line that the task has ended. */
function tellOver() {
  const place = document.getElementById('over');
  if (!place || !waited || !place.hidden) return;
  places.set(task, null);
  place.hidden = false;
  calmly.textContent = place.textContent;
}

/** Opens or closes the lease. A task can become processable, or cease to be, while the page is open. */
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
  // `single`, because two windows of one person with editable fields would write over each other.
  lease = turno.lease(`task:${task}`, { single: true });
  const on = (name, heard) => lease.addEventListener(name, ({ detail }) => {
    heard(detail);
    show();
  });
  on('state', () => {
    if (lease.state !== 'unknown') doubted = false;
    // A renewed lease ends the error of a refused heartbeat.
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
  // If the answer comes within a moment, `unknown` is not shown.
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
