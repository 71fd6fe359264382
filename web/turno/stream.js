// Live events of the server, as Server-Sent Events.

// @ts-check
/** @import { Turno } from './client.js' */
/** @import { StreamEvent } from './types.js' */
/** @typedef {{ id?: string, event?: string, data: any }} SentEvent */

import { TurnoError, parsed } from './answer.js';
import { RETRY_MAX_MS, RETRY_MS, hidden } from './time.js';

/** The server sends a comment every 15 s, so a stream that is silent for longer is dead. */
const SILENCE_MS = 25_000;

/**
 * Reads Server-Sent Events until the stream ends. It uses fetch, because EventSource cannot send a token in a header.
 * `ask(signal)` sends the request. `opened(response)` sees the answer and may throw. `take({id, event, data})` gets each
 * event. A stream that is silent for too long is ended.
 *
 * @param {(signal: AbortSignal) => Promise<Response>} ask
 * @param {AbortSignal} signal
 * @param {(response: Response) => void} opened
 * @param {(event: SentEvent) => void} take
 */
export async function follow(ask, signal, opened, take) {
  const ended = new AbortController();
  const stop = () => ended.abort();
  signal.addEventListener('abort', stop, { once: true });
  let timer = setTimeout(stop, SILENCE_MS);
  try {
    const response = await ask(ended.signal);
    opened(response);
    const reader = /** @type {ReadableStream} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ''; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(stop, SILENCE_MS);
      const blocks = (text + value).split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) take(fieldsOf(block));
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    ended.abort();
  }
}

/**
 * Returns the fields of one event. A comment has none.
 *
 * @param {string} block
 * @returns {SentEvent}
 */
function fieldsOf(block) {
  /** @type {Record<string, string>} */
  const fields = {};
  for (const line of block.split('\n')) {
    const [, field, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (field) fields[field] = value;
  }
  return { ...fields, data: parsed(fields.data ?? '{}') ?? {} };
}

/** The live stream of all leases of a page. It is open only while the page is visible, because browsers allow six per server. */
export class Stream {
  #turno;
  /** @type {Set<{ resource: string, heard: (event: StreamEvent) => void }>} */
  #watchers = new Set();
  /** @type {AbortController | null} */
  #running = null;
  /** The id of the last event, from which the server continues. @type {string | null} */
  #position = null;
  live = false;

  /** @param {Turno} turno */
  constructor(turno) {
    this.#turno = turno;
  }

  /**
   * @param {string} resource
   * @param {(event: StreamEvent) => void} heard
   */
  watch(resource, heard) {
    const watcher = { resource, heard };
    if (this.#watchers.size === 0) document.addEventListener('visibilitychange', this.#turn);
    this.#watchers.add(watcher);
    this.#turn();
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size === 0) document.removeEventListener('visibilitychange', this.#turn);
      this.#turn();
    };
  }

  #turn = () => {
    const wanted = this.#watchers.size > 0 && !hidden();
    if (wanted && !this.#running) {
      this.#running = new AbortController();
      this.#run(this.#running.signal);
    } else if (!wanted) {
      this.#running?.abort();
      this.#running = null;
    }
  };

  /** @param {AbortSignal} signal */
  async #run(signal) {
    for (let pause = RETRY_MS; !signal.aborted; pause = Math.min(pause * 2, RETRY_MAX_MS)) {
      try {
        await this.#listen(signal, () => (pause = RETRY_MS));
      } catch {
        // `live` becomes false, and the leases poll meanwhile.
      }
      if (this.#running?.signal === signal || !this.#running) this.live = false;
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, pause * (0.75 + Math.random() / 2));
        signal.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true });
      });
    }
  }

  /**
   * @param {AbortSignal} signal
   * @param {() => void} opened
   */
  async #listen(signal, opened) {
    /** @type {Record<string, string>} */
    const headers = { accept: 'text/event-stream' };
    if (this.#position) headers['last-event-id'] = this.#position;
    const ask = (/** @type {AbortSignal} */ signal) => this.#turno.request('/v1/events?topics=leases', { headers, signal });
    const open = (/** @type {Response} */ response) => {
      if (!response.ok || !response.body) throw new TurnoError(response.status, null);
      this.live = true;
      opened();
      this.#tell({ name: 'open' });
    };
    await follow(ask, signal, open, ({ id, event, data }) => {
      if (id) this.#position = id;
      if (event) this.#tell({ name: event, ...data });
    });
  }

  /** `open` and `reset` name no resource and concern every watcher. @param {StreamEvent} event */
  #tell(event) {
    for (const { resource, heard } of [...this.#watchers]) {
      if (event.resource === resource || event.name === 'open' || event.name === 'reset') heard(event);
    }
  }
}
