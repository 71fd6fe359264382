// What the pages of the console share about locks: one stream for all leases, places in line, and the countdown.

import { Turno } from '/turno.js';

/** A client that uses the stream of the console for its leases, so that a page opens one stream only. */
export class ConsoleTurno extends Turno {
  watch(resource, heard) {
    const listen = ({ detail: { name, data } }) => {
      if (data.resource === resource || name === 'reset') heard({ name, ...data });
    };
    document.addEventListener('turno:event', listen);
    return () => document.removeEventListener('turno:event', listen);
  }

  /** Reports a 401 to the page, which decides what follows. */
  async request(path, init) {
    const response = await super.request(path, init);
    if (response.status === 401) document.dispatchEvent(new CustomEvent('turno:signed-out'));
    return response;
  }

  get live() {
    const about = [...document.querySelectorAll('[data-live]')].flatMap((one) => one.dataset.live.split(/\s+/));
    return document.getElementById('pulse')?.dataset.state === 'live' && about.includes('leases');
  }
}

/** The tasks for which this person is in line, as far as this tab knows: number to title. */
export class Places {
  #key;

  constructor(user) {
    this.#key = `turno:line:${user}`;
  }

  all() {
    try {
      return new Map(JSON.parse(sessionStorage.getItem(this.#key) ?? '[]'));
    } catch {
      return new Map();
    }
  }

  set(task, title) {
    const all = this.all();
    if (title === null ? !all.delete(task) : all.get(task) === title) return;
    if (title !== null) all.set(task, title);
    try {
      sessionStorage.setItem(this.#key, JSON.stringify([...all]));
    } catch {
      // Without storage, offers are shown on the page of the task only.
    }
  }
}

/** Formats a duration: "0:25". */
export function left(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

const title = document.title;

/** Sets the title of the tab, for people who look at another tab; null restores it. */
export function entitle(text) {
  const wanted = text ?? title;
  if (document.title !== wanted) document.title = wanted;
}
