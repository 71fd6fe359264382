// The console in the browser: pages stay true without a reload.
//
// One live stream tells that something happened; then the page's own address is read again and what changed is merged in
// place (htmx, morph), so that focus, typed text and open dialogs stay. Nothing is shown that the server did not send.
// Pages and forms work without this file; only the liveness is lost.

import { follow } from '/turno.js';

const LIVE = '#live';
/** Two reads are at least this far apart, however much happens. */
const READ_EVERY_MS = 1_000;
/** Some things become untrue by time alone, without an event: an expiry, a delay that ends. */
const READ_AT_LEAST_MS = 15_000;
/** Without a stream the page is read this often. */
const POLL_MS = 5_000;
/** Who has not answered for so long is said to be silent; process mode counts alike. */
const SILENT_MS = 4_000;
const RETRY_MS = 1_000;
const RETRY_MAX_MS = 15_000;

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

function tellTimes() {
  for (const element of document.querySelectorAll('time[datetime]')) {
    const at = Date.parse(element.dateTime);
    if (Number.isNaN(at)) continue;
    element.title = clock(at, { ...DAY, year: 'numeric', ...HOUR, second: '2-digit' });
    const said = 'clock' in element.dataset ? shortClock(at) : spoken(now() - at);
    if (element.textContent !== said) element.textContent = said;
  }
  tellPulse();
}

function shortClock(at) {
  const today = new Date(now()).toDateString() === new Date(at).toDateString();
  return clock(at, today ? HOUR : { ...DAY, ...HOUR });
}

// How fresh the page is.

let readAt = Date.now();
let lostAt = null;
let answeredAt = 0;
let state = 'still';

function tellPulse() {
  const pulse = document.getElementById('pulse');
  const fresh = text('updated', { ago: spoken(Date.now() - readAt) });
  if (pulse) {
    pulse.dataset.state = lostAt ? 'lost' : state;
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
  answeredAt = Date.now();
  tellPulse();
}

// Reading the page again.

let reading = null;
let wanted = null;

/** Reads soon; many wishes become one. */
export function readSoon(delay = 150) {
  if (document.hidden || wanted) return;
  const wait = Math.max(delay, readAt + READ_EVERY_MS - Date.now());
  wanted = setTimeout(() => {
    wanted = null;
    void readNow();
  }, wait);
}

async function readNow() {
  const region = document.querySelector(LIVE);
  if (!region || reading) return;
  const address = location.pathname + location.search;
  reading = window.htmx.ajax('GET', address, { target: LIVE, select: LIVE, swap: 'outerMorph', source: LIVE });
  try {
    await reading;
  } finally {
    reading = null;
  }
}

function setClock(headers) {
  const told = Date.parse(headers.get('date') ?? '');
  // The header knows whole seconds only; a smaller difference is none.
  if (!Number.isNaN(told) && Math.abs(told - now()) > 1_500) skew = told - Date.now();
}

document.addEventListener('htmx:before:response', (event) => {
  const { response } = event.detail.ctx;
  setClock(response.headers);
  if (response.status < 500) connectionBack();
});
document.addEventListener('htmx:after:swap', () => {
  readAt = Date.now();
  tellTimes();
  drawCharts();
  reachScrolls();
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
  if (stream || document.hidden || !about.length) return;
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
  if (response.status === 401) signIn();
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  state = 'live';
  // What happened while nobody listened is in the page.
  if (failures || lostAt) readSoon(0);
  failures = 0;
  connectionBack();
}

/** One event of the stream: its position is kept, and whoever shows something of its topic reads again. */
function take({ id, event: name, data }) {
  if (id) position = id;
  if (!name) return;
  if (name === 'bye') {
    if (data.reason === 'signed_out') signIn();
    return;
  }
  const event = new CustomEvent('turno:event', { detail: { name, data }, cancelable: true });
  // A page that knows better, such as process mode, takes the event over.
  if (document.dispatchEvent(event)) readSoon();
}

function parsed(data) {
  try {
    return JSON.parse(data ?? '{}');
  } catch {
    return {};
  }
}

function signIn() {
  location.assign(`/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`);
}

function hush() {
  const ended = stream;
  stream = null;
  clearTimeout(retry);
  ended?.abort();
}

// Six streams are all that a browser opens to one server: a tab that nobody sees has none.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) return hush();
  readSoon(0);
  void listen();
});
window.addEventListener('pagehide', hush);
window.addEventListener('pageshow', (event) => {
  if (!event.persisted) return;
  readSoon(0);
  void listen();
});
window.addEventListener('online', () => {
  readSoon(0);
  void listen();
});
window.addEventListener('offline', connectionLost);
// Process mode asks more often than pages are read, and notices first that nobody answers.
document.addEventListener('turno:silent', ({ detail: { since } }) => {
  // An answer to this page is one: silence begins after it.
  const from = Math.max(since, answeredAt);
  if (Date.now() - from < SILENT_MS) return;
  lostAt ??= from;
  tellPulse();
});
document.addEventListener('turno:answered', () => {
  connectionBack();
  readSoon(0);
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
setInterval(() => {
  const fresh = Date.now() - readAt;
  if (topics().length && fresh >= (state === 'live' && !lostAt ? READ_AT_LEAST_MS : POLL_MS)) readSoon(0);
}, 1_000);
tellTimes();
drawCharts();
reachScrolls();
void listen();
