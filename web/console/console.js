// The console in the browser: pages stay true without a reload.
//
// One live stream tells that something happened; then the page's own address is read again and what changed is merged in
// place (htmx, morph), so that focus, typed text and open dialogs stay. Nothing is shown that the server did not send.
// Pages and forms work without this file; only the liveness is lost.

import { Turno, follow } from '/turno.js';
import { keepFocus } from './focus.js';
import { LIVE, readPage } from './reading.js';

/** Two reads are at least this far apart, however much happens. */
const READ_EVERY_MS = 1_000;
/** Some things become untrue by time alone, without an event: an expiry, a delay that ends. */
const READ_AT_LEAST_MS = 15_000;
/** Without a stream the page is read this often. */
const POLL_MS = 5_000;
/** Who has not answered for so long is said to be silent; process mode counts alike. */
const SILENT_MS = 4_000;
/** A stream on which nothing happens looks like one that hangs: after so long without a word somebody asks. */
const QUIET_MS = 5_000;
const RETRY_MS = 1_000;
const RETRY_MAX_MS = 15_000;
/** What a page says of what was just done is said for so long, whatever happens. */
const SAID_MS = 4_000;
const openedAt = Date.now();

const body = document.body;
const text = (name, values = {}) =>
  Object.entries(values).reduce((said, [key, value]) => said.replace(`{${key}}`, value), body.dataset[name] ?? '');

// Times: "hace 12 s", in the words that the server gave along.

const UNITS = [['D', 86_400], ['H', 3_600], ['M', 60], ['S', 1]];

export function spoken(ms) {
  const seconds = Math.round(Math.abs(ms) / 1_000);
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) ?? ['S', 1];
  if (seconds < 2) return text('agoNow');
  return text((ms < 0 ? 'in' : 'ago') + unit, { n: Math.floor(seconds / size) });
}

/** The clocks of this machine and of the server differ; what is shown is reckoned by the server's. */
let skew = 0;
const now = () => Date.now() + skew;
const locale = document.documentElement.lang === 'en' ? 'en-GB' : document.documentElement.lang;
// One form for both languages: 24 hours, and a month by its name, so that no date can be read in two ways.
const DAY = { day: 'numeric', month: 'short' };
const HOUR = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
const clock = (at, options) => new Intl.DateTimeFormat(locale, options).format(at);

/** Times that were still to come when they were shown. */
const awaited = new Set();
/** What such a time has ended is read again for so long: the server's clock may come a moment after this one. */
const PASSED_MS = 3_000;

/** Whether a time has come that the page waited for, such as an expiry: nobody tells of it. */
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
  // Ends that are not shown, of what is.
  for (const { dataset } of document.querySelectorAll('[data-until]')) if (hasPassed(Date.parse(dataset.until))) passed = true;
  for (const at of awaited) if (now() - at >= PASSED_MS) awaited.delete(at);
  if (passed && topics().length) readSoon(0);
  tellPulse();
}

function shortClock(at, exact) {
  const today = new Date(now()).toDateString() === new Date(at).toDateString();
  return clock(at, { ...(today ? {} : DAY), ...HOUR, ...(exact ? { second: '2-digit' } : {}) });
}

// How fresh the page is.

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

// Whether anybody is there: on every page that follows a stream, as process mode knows it by its heartbeats.

const server = new Turno();
let asking = false;

async function ask() {
  asking = true;
  try {
    await server.call('GET', '/readyz');
    heard();
  } catch (error) {
    // An answer is one; that it is a bad one is told by whoever reads the page.
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
  // An answer to this page is one: silence begins after it.
  const from = Math.max(since, answeredAt);
  if (Date.now() - from < SILENT_MS) return;
  lostAt ??= from;
  tellPulse();
}

function spoke() {
  connectionBack();
  readSoon(0);
}

// The session. Nobody is sent anywhere for its end: there may be something on the page that nobody has saved.

/** `open`; `left` once this page itself signs out, which leads on by itself; `ended` otherwise. */
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

/** Reads soon; many wishes become one. */
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
  // The header knows whole seconds only; a smaller difference is none.
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
    // Whether the server is there at all is told by the page itself, which is read instead.
    readSoon(0);
    retry = setTimeout(listen, Math.min(RETRY_MS * 2 ** (failures - 1), RETRY_MAX_MS) * (0.75 + Math.random() / 2));
  }
}

function opened(response) {
  setClock(response.headers);
  if (response.status === 401) signedOut();
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  state = 'live';
  // What happened while nobody listened is in the page.
  if (failures || lostAt) readSoon(0);
  failures = 0;
  connectionBack();
}

/** One event of the stream: its position is kept, and whoever shows something of its topic reads again. */
function take({ id, event: name, data }) {
  heard();
  if (id) position = id;
  if (!name) return;
  if (name === 'bye') {
    if (data.reason === 'signed_out') signedOut();
    return;
  }
  const event = new CustomEvent('turno:event', { detail: { name, data }, cancelable: true });
  // A page that knows better, such as process mode, takes the event over.
  if (!document.dispatchEvent(event)) return;
  outdate();
  readSoon();
}

/** What was said of a success may not be true any more once something else happens; what went wrong stays to be read. */
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
// Six streams are all that a browser opens to one server: a tab that nobody sees has none.
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
// Whoever calls the API hears it, too.
document.addEventListener('turno:signed-out', signedOut);
// Process mode asks more often than pages are read, and notices first that nobody answers.
document.addEventListener('turno:silent', ({ detail: { since } }) => silence(since));
document.addEventListener('turno:answered', spoke);

// What somebody reads while they decide does not change under their hands; what they decide is judged by how it is then.
document.addEventListener('toggle', ({ target, newState }) => {
  if (!target.matches('dialog[popover]')) return;
  target.toggleAttribute('hx-morph-skip', newState === 'open');
  if (newState === 'closed') readSoon(0);
}, { capture: true });
// Nor does it vanish with what was typed into it: a page on which there is nothing left to decide waits until it is closed.
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
    // At least a minute wide, so that the first points do not jump about.
    scales: { x: { time: true, range: (_, first, last) => [Math.min(first, last - 60), last] }, y: { range: (_, low, high) => [0, Math.max(high, 5)] } },
    series: [{}, ...series],
    axes: [{ ...axis, size: 22, space: 70, incrs: [60, 120, 180, 300, 600], values: (_, ticks) => ticks.map((at) => clock(at * 1_000, HOUR)) }, { ...axis, size: 34, space: 22 }],
  };
  const made = new window.uPlot(options, points, host);
  new ResizeObserver(() => made.setSize(size())).observe(host);
  return made;
}

/** What scrolls sideways can be scrolled with the keyboard; what does not is no stop on the way. */
function reachScrolls() {
  for (const element of document.querySelectorAll('.scroll, pre')) {
    if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
    else element.removeAttribute('tabindex');
  }
}

window.addEventListener('resize', reachScrolls);

// Small comforts; without them the same works by the form's own button.

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
