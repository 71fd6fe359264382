// Live events of the server, as Server-Sent Events.

import { TurnoError, parsed } from './answer.js';
import { RETRY_MAX_MS, RETRY_MS, hidden } from './time.js';

/** The server sends a comment every 15 s, so a stream that is silent for longer is dead. */
const SILENCE_MS = 25_000;

/**
 * Reads Server-Sent Events until the stream ends. It uses fetch, because EventSource cannot send a token in a header.
 * `ask(signal)` sends the request. `opened(response)` sees the answer and may throw. `take({id, event, data})` gets each
 * event. A stream that is silent for too long is ended.
 */
export async function follow(ask, signal, opened, take) {
  const ended = new AbortController();
  const stop = () => ended.abort();
  signal.addEventListener('abort', stop, { once: true });
  let timer = setTimeout(stop, SILENCE_MS);
  try {
    const response = await ask(ended.signal);
    opened(response);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ''; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(stop, SILENCE_MS);
      const blocks = (text + value).split('\n\n');
      text = blocks.pop();
      for (const block of blocks) take(fieldsOf(block));
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    ended.abort();
  }
}

/** Returns the fields of one event. A comment has none. */
function fieldsOf(block) {
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
  #watchers = new Set();
  #running = null;
  #position = null;
  live = false;

  constructor(turno) {
    this.#turno = turno;
  }

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

  async #listen(signal, opened) {
    const headers = { accept: 'text/event-stream' };
    if (this.#position) headers['last-event-id'] = this.#position;
    const ask = (signal) => this.#turno.request('/v1/events?topics=leases', { headers, signal });
    const open = (response) => {
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

  /** `open` and `reset` name no resource and concern every watcher. */
  #tell(event) {
    for (const { resource, heard } of [...this.#watchers]) {
      if (event.resource === resource || event.name === 'open' || event.name === 'reset') heard(event);
    }
  }
}
