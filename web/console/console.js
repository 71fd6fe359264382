// The console in the browser: pages stay up to date without a reload.
//
// After an event of the live stream the page is read again from its own address, and the changes are merged in place (htmx,
// morph), so that focus, typed text and open dialogs stay. The page shows only what the server rendered. Pages and forms
// work without this file, but do not update themselves.

import { Turno, follow } from '/turno.js';
import { keepFocus } from './focus.js';
import { LIVE, readPage } from './reading.js';

/** Two reads are at least this far apart, however many events arrive. */
const READ_EVERY_MS = 1_000;
/** The page is read at least this often, because some changes have no event, such as the end of a delay. */
const READ_AT_LEAST_MS = 15_000;
/** Without a stream the page is read this often. */
const POLL_MS = 5_000;
/** After this long without an answer, the page shows that the server is silent; process mode uses the same time. */
const SILENT_MS = 4_000;
/** After this long without an event the page asks the server, because a quiet stream looks like one that hangs. */
const QUIET_MS = 5_000;
const RETRY_MS = 1_000;
const RETRY_MAX_MS = 15_000;
/** A success message is shown for at least this long. */
const SAID_MS = 4_000;
const openedAt = Date.now();

const body = document.body;
const text = (name, values = {}) =>
  Object.entries(values).reduce((said, [key, value]) => said.replace(`{${key}}`, value), body.dataset[name] ?? '');

// Times such as "hace 12 s", in the words that the server sent with the page.

const UNITS = [['D', 86_400], ['H', 3_600], ['M', 60], ['S', 1]];

export function spoken(ms) {
  const seconds = Math.round(Math.abs(ms) / 1_000);
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) ?? ['S', 1];
  if (seconds < 2) return text('agoNow');
  return text((ms < 0 ? 'in' : 'ago') + unit, { n: Math.floor(seconds / size) });
}

/** The difference between the clock of the server and of this machine. Times are shown by the clock of the server. */
let skew = 0;
const now = () => Date.now() + skew;
const locale = document.documentElement.lang === 'en' ? 'en-GB' : document.documentElement.lang;
// 24 hours and the name of the month in both languages, so that no date can be read in two ways.
const DAY = { day: 'numeric', month: 'short' };
const HOUR = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
const clock = (at, options) => new Intl.DateTimeFormat(locale, options).format(at);

/** Times that were in the future when they were shown. */
const awaited = new Set();
/** After such a time the page is read again for this long, because the clock of the server may be a moment behind. */
const PASSED_MS = 3_000;

/** Whether a time that the page shows has just passed, such as an expiry. There may be no event for it. */
function hasPassed(at) {
  if (at > now()) awaited.add(at);
  return awaited.has(at) && at <= now() && now() - at < PASSED_MS;
}

function tellTimes() {
  let passed = false;
  for (const element of document.querySelectorAll('time[datetime]')) {
    const at = Date.parse(element.dateTime);
    if (Number.isNaN(at)) continue;
    if (hasPassed(at)) passed = true;
    element.title = clock(at, { ...DAY, year: 'numeric', ...HOUR, second: '2-digit' });
    const said = 'clock' in element.dataset ? shortClock(at, element.dataset.clock === 's') : spoken(now() - at);
    if (element.textContent !== said) element.textContent = said;
  }
  // Elements whose end is not shown as a time.
  for (const { dataset } of document.querySelectorAll('[data-until]')) if (hasPassed(Date.parse(dataset.until))) passed = true;
  for (const at of awaited) if (now() - at >= PASSED_MS) awaited.delete(at);
  if (passed && topics().length) readSoon(0);
  tellPulse();
}

function shortClock(at, exact) {
  const today = new Date(now()).toDateString() === new Date(at).toDateString();
  return clock(at, { ...(today ? {} : DAY), ...HOUR, ...(exact ? { second: '2-digit' } : {}) });
}

// The age of the page.

let readAt = Date.now();
let lostAt = null;
let answeredAt = Date.now();
let state = 'still';

function tellPulse() {
  const pulse = document.getElementById('pulse');
  const fresh = text('updated', { ago: spoken(Date.now() - readAt) });
  if (pulse) {
    pulse.dataset.state = lostAt || session === 'ended' ? 'lost' : state;
    if (pulse.textContent !== fresh) pulse.textContent = fresh;
  }
  const banner = document.getElementById('banner');
  if (!banner) return;
  banner.hidden = !lostAt;
  if (lostAt) {
    const said = text('lost', { since: clock(lostAt, HOUR), updated: fresh });
    if (banner.textContent !== said) banner.textContent = said;
  }
}

function connectionLost() {
  lostAt ??= Date.now();
  tellPulse();
}

function connectionBack() {
  lostAt = null;
  heard();
  tellPulse();
}

function heard() {
  answeredAt = Date.now();
}

// Whether the server answers, on every page with a stream. Process mode knows it from its heartbeats.

const server = new Turno();
let asking = false;

async function ask() {
  asking = true;
  try {
    await server.call('GET', '/readyz');
    heard();
  } catch (error) {
    // An error is an answer, too. Reading the page shows what is wrong.
    if (error.status) readSoon(0);
  } finally {
    asking = false;
  }
}

let wasSilent = false;

function watch() {
  if (document.hidden || !topics().length || session !== 'open') return;
  if (!asking && Date.now() - answeredAt >= QUIET_MS) void ask();
  const silent = server.silent_ms;
  if (silent >= SILENT_MS) silence(Date.now() - silent);
  else if (wasSilent) spoke();
  wasSilent = silent >= SILENT_MS;
}

function silence(since) {
  // The silence starts after the last answer to this page.
  const from = Math.max(since, answeredAt);
  if (Date.now() - from < SILENT_MS) return;
  lostAt ??= from;
  tellPulse();
}

function spoke() {
  connectionBack();
  readSoon(0);
}

// The session. When it ends, the page stays as it is, because it may contain unsaved text.

/** `open`; `left` if this page signs out, which opens another page; `ended` if the session ended elsewhere. */
let session = 'open';

function signedOut() {
  if (session !== 'open') return;
  session = 'ended';
  hush();
  document.getElementById('ended').hidden = false;
  lostAt = null;
  tellPulse();
  document.dispatchEvent(new CustomEvent('turno:ended'));
}

// Reading the page again.

let wanted = null;

/** Reads the page soon. Several calls cause one read. */
export function readSoon(delay = 150) {
  if (document.hidden || wanted || session !== 'open') return;
  const wait = Math.max(delay, readAt + READ_EVERY_MS - Date.now());
  wanted = setTimeout(() => {
    wanted = null;
    if (document.querySelector(LIVE) && session === 'open') void readPage();
  }, wait);
}

function setClock(headers) {
  const told = Date.parse(headers.get('date') ?? '');
  // The header has whole seconds only, so a smaller difference is ignored.
  if (!Number.isNaN(told) && Math.abs(told - now()) > 1_500) skew = told - Date.now();
}

document.addEventListener('htmx:before:response', (event) => {
  const { response } = event.detail.ctx;
  setClock(response.headers);
  if (response.status === 401) signedOut();
  if (response.status < 500) connectionBack();
});
document.addEventListener('htmx:after:swap', () => {
  readAt = Date.now();
  tellTimes();
  drawCharts();
  reachScrolls();
  keepFocus();
});
document.addEventListener('htmx:error', (event) => {
  if (event.detail.ctx) connectionLost();
});
document.addEventListener('htmx:response:error', (event) => {
  if (event.detail.ctx.response.status >= 500) connectionLost();
});

// The stream.

let stream = null;
let position = null;
let failures = 0;
let retry = null;

function topics() {
  const named = [...document.querySelectorAll('[data-live]')].flatMap((element) => element.dataset.live.split(/\s+/));
  return [...new Set(named.filter(Boolean))];
}

async function listen() {
  clearTimeout(retry);
  const about = topics();
  if (stream || document.hidden || !about.length || session !== 'open') return;
  const abort = new AbortController();
  stream = abort;
  const headers = { accept: 'text/event-stream', ...(position ? { 'last-event-id': position } : {}) };
  const ask = (signal) => fetch(`/v1/events?topics=${about.join(',')}`, { headers, signal });
  try {
    await follow(ask, abort.signal, opened, take);
    throw new Error('the stream ended');
  } catch {
    if (stream !== abort) return;
    stream = null;
    if (document.hidden) return;
    failures += 1;
    state = 'polling';
    // Reading the page shows whether the server answers at all.
    readSoon(0);
    retry = setTimeout(listen, Math.min(RETRY_MS * 2 ** (failures - 1), RETRY_MAX_MS) * (0.75 + Math.random() / 2));
  }
}

function opened(response) {
  setClock(response.headers);
  if (response.status === 401) signedOut();
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  state = 'live';
  // Events that were missed show in the page.
  if (failures || lostAt) readSoon(0);
  failures = 0;
  connectionBack();
}

/** Takes one event of the stream: keeps its position and reads the page again. */
function take({ id, event: name, data }) {
  heard();
  if (id) position = id;
  if (!name) return;
  if (name === 'bye') {
    if (data.reason === 'signed_out') signedOut();
    return;
  }
  const event = new CustomEvent('turno:event', { detail: { name, data }, cancelable: true });
  // Process mode and the list of turns handle some events themselves.
  if (!document.dispatchEvent(event)) return;
  outdate();
  readSoon();
}

/** Removes a success message, which may be outdated after another event. Error messages stay. */
function outdate() {
  const left = Math.max(0, openedAt + SAID_MS - Date.now());
  setTimeout(() => document.querySelector('main > .flash:not(.bad)')?.remove(), left);
}

function parsed(data) {
  try {
    return JSON.parse(data ?? '{}');
  } catch {
    return {};
  }
}

function hush() {
  const ended = stream;
  stream = null;
  clearTimeout(retry);
  ended?.abort();
}

window.addEventListener('submit', (event) => {
  if (event.defaultPrevented || event.target.getAttribute('action') !== '/sign-out') return;
  session = 'left';
  hush();
});
// Browsers open at most six connections to one server, so a hidden tab has no stream.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) return hush();
  readSoon(0);
  void listen();
});
window.addEventListener('pagehide', hush);
window.addEventListener('pageshow', (event) => {
  if (!event.persisted) return;
  session = 'open';
  readSoon(0);
  void listen();
});
window.addEventListener('online', () => {
  readSoon(0);
  void listen();
});
window.addEventListener('offline', connectionLost);
// Calls of the API notice the end of the session, too.
document.addEventListener('turno:signed-out', signedOut);
// Process mode sends more requests than the page, so it is the first to notice a silent server.
document.addEventListener('turno:silent', ({ detail: { since } }) => silence(since));
document.addEventListener('turno:answered', spoke);

// An open dialog does not change while the person decides. The server checks the decision against the state of that moment.
document.addEventListener('toggle', ({ target, newState }) => {
  if (!target.matches('dialog[popover]')) return;
  target.toggleAttribute('hx-morph-skip', newState === 'open');
  if (newState === 'closed') readSoon(0);
}, { capture: true });
// If the page that was read no longer has the open dialog, it is not shown until the dialog is closed. Otherwise the text in
// the dialog would be lost.
document.addEventListener('htmx:before:swap', (event) => {
  const open = document.querySelector('dialog:popover-open');
  if (open && !(event.detail.ctx?.text ?? '').includes(`id="${open.id}"`)) event.preventDefault();
});

// Charts.

const charts = new WeakMap();

function drawCharts() {
  for (const host of document.querySelectorAll('[data-chart]')) {
    const data = parsed(host.dataset.chart);
    if (!window.uPlot || !data.times?.length) continue;
    const points = [data.times, ...data.series.map((one) => one.values)];
    const drawn = charts.get(host);
    const style = getComputedStyle(host);
    if (drawn && drawn.theme === style.color) {
      drawn.plot.setData(points);
      continue;
    }
    drawn?.plot.destroy();
    charts.set(host, { plot: plot(host, data, points), theme: style.color });
  }
}

function plot(host, data, points) {
  const probe = (name) => {
    const element = document.createElement('span');
    element.className = 'visually-hidden';
    element.style.color = `var(${name})`;
    host.append(element);
    const color = getComputedStyle(element).color;
    element.remove();
    return color;
  };
  const axis = { stroke: probe('--soft'), grid: { stroke: probe('--line'), width: 1 }, ticks: { show: false }, font: '11px system-ui' };
  const size = () => ({ width: host.clientWidth, height: Math.max(host.clientHeight, 60) });
  const series = data.series.map((one) => ({
    label: one.label, stroke: probe(`--${one.tone}`), width: 2, points: { show: false },
  }));
  const options = {
    ...size(),
    cursor: { show: false },
    legend: { show: false },
    // At least a minute wide, so that the first points do not jump.
    scales: { x: { time: true, range: (_, first, last) => [Math.min(first, last - 60), last] }, y: { range: (_, low, high) => [0, Math.max(high, 5)] } },
    series: [{}, ...series],
    axes: [{ ...axis, size: 22, space: 70, incrs: [60, 120, 180, 300, 600], values: (_, ticks) => ticks.map((at) => clock(at * 1_000, HOUR)) }, { ...axis, size: 34, space: 22 }],
  };
  const made = new window.uPlot(options, points, host);
  new ResizeObserver(() => made.setSize(size())).observe(host);
  return made;
}

/** Makes elements that scroll sideways reachable with the keyboard, and only those. */
function reachScrolls() {
  for (const element of document.querySelectorAll('.scroll, pre')) {
    if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
    else element.removeAttribute('tabindex');
  }
}

window.addEventListener('resize', reachScrolls);

// Copy buttons.

document.addEventListener('click', async (event) => {
  const button = event.target.closest('[data-copy]');
  if (!button) return;
  await navigator.clipboard?.writeText(button.dataset.copy);
  button.textContent = text('copied');
});

document.querySelector('.menu [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
setInterval(tellTimes, 1_000);
setInterval(watch, 1_000);
setInterval(() => {
  const fresh = Date.now() - readAt;
  if (topics().length && fresh >= (state === 'live' && !lostAt ? READ_AT_LEAST_MS : POLL_MS)) readSoon(0);
}, 1_000);
tellTimes();
drawCharts();
reachScrolls();
void listen();
