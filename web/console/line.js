// What pages of the console share about locks: one stream for all of them, places in line, and how a time is counted down.

import { Turno } from '/turno.js';

/** The console's own stream serves leases, too: a page opens one and no more. */
export class ConsoleTurno extends Turno {
  watch(resource, heard) {
    const listen = ({ detail: { name, data } }) => {
      if (data.resource === resource || name === 'reset') heard({ name, ...data });
    };
    document.addEventListener('turno:event', listen);
    return () => document.removeEventListener('turno:event', listen);
  }

  /** Who finds out that nobody is signed in any more says so; what follows is the page's matter. */
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

/** The tasks for which this person stands in line, as far as this tab knows: which, and what they are called. */
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
      // Full or forbidden: then it is told on the task's own page only.
    }
  }
}

/** "0:25". */
export function left(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

const title = document.title;

/** Says something in the tab's title, for whoever looks elsewhere; nothing gives it back. */
export function entitle(text) {
  const wanted = text ?? title;
  if (document.title !== wanted) document.title = wanted;
}
