// Unsaved text of the lines of a task or of the form of a draft.
//
// It survives a lost lock, a lost connection, a reload and a closed tab. It is stored in this browser per person with every
// key press, and shared by the windows of that person. It is deleted when it is saved, discarded or too old.

/** The limit of the server (`limits.rs`), which the error text names. */
const QUANTITY_MAX = 1_000_000_000_000;
/** Older text is deleted. */
const KEPT_MS = 7 * 24 * 60 * 60 * 1_000;
const PREFIX = 'turno:typed:';

/** Returns the field of a line; null for an applied line. */
export const amountOf = (row) => row?.querySelector('.amount :is(input, textarea)');

/** Returns the values of a field for the API, or the name of the text that says what is wrong with it. */
export function values(row, typed) {
  if (row.dataset.kind === 'serialized') {
    const serials = typed.split(/[\s,;]+/).filter(Boolean);
    return serials.length ? { serials } : { wrong: 'badSerials' };
  }
  const quantity = Number(typed);
  const fits = typed.trim() && Number.isInteger(quantity) && quantity > 0 && quantity <= QUANTITY_MAX;
  return fits ? { quantity } : { wrong: 'badQuantity' };
}

/** Returns the stored value of a line as the text of its field. */
export const stored = ({ serials, quantity }) => (serials ? serials.join('\n') : String(quantity));

/** Whether two texts of a field have the same values. Separators do not count. */
export function same(row, one, other) {
  const [left, right] = [values(row, one), values(row, other)];
  return one === other || (!left.wrong && !right.wrong && stored(left) === stored(right));
}

/** Returns the drafts under a key, by the number of the line. */
function kept(key) {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? '[]');
    return new Map(found.filter(([, { at }]) => Date.now() - at < KEPT_MS));
  } catch {
    // Without storage or with an invalid entry there are no drafts.
    return new Map();
  }
}

function keep(key, lines) {
  try {
    if (lines.size) localStorage.setItem(key, JSON.stringify([...lines]));
    else localStorage.removeItem(key);
  } catch {
    // Without storage the text is only on the page.
  }
}

/** Deletes old drafts of all tasks, because a task that is never opened again would keep its drafts for ever. */
function sweep() {
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) keep(key, kept(key));
  } catch {
    // Without storage there is nothing to delete.
  }
}

/** Returns the names with this beginning under which this person has drafts, newest first. */
export function keptAs(user, begin) {
  const mine = `${PREFIX}${user}:`;
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(mine + begin));
    const newest = (key) => Math.max(...[...kept(key).values()].map(({ at }) => at));
    return keys.sort((one, other) => newest(other) - newest(one)).map((key) => key.slice(mine.length));
  } catch {
    return [];
  }
}

/** Deletes the kept text of a form that the server has saved. The server names its slot in a cookie. */
export function forgetSaved(user) {
  const saved = /(?:^|; )turno_saved=([a-z0-9-]+)/.exec(document.cookie)?.[1];
  if (!saved) return;
  document.cookie = 'turno_saved=; Path=/; Max-Age=0; SameSite=Lax';
  keep(`${PREFIX}${user}:${saved}`, new Map());
}

/** Drafts by the number of the line: the `typed` text, its `fence`, and the stored value at that time (`base`). */
export class Drafts {
  #key;
  #lines;

  /** `changed` is called when another window of this person has changed a draft. */
  constructor(user, task, changed) {
    this.#key = `${PREFIX}${user}:${task}`;
    sweep();
    this.#lines = kept(this.#key);
    addEventListener('storage', ({ key }) => {
      if (key !== this.#key && key !== null) return;
      this.#lines = kept(this.#key);
      changed();
    });
  }

  numbers() {
    return [...this.#lines.keys()];
  }

  get(number) {
    return this.#lines.get(number) ?? null;
  }

  type(number, typed, stored, fence) {
    const draft = this.#lines.get(number) ?? { base: stored };
    this.#put(number, { ...draft, typed, fence, at: Date.now() });
  }

  /** Notes the text that was sent. If the page shows it as stored before the answer arrives, that is no conflict. */
  sent(number, sent) {
    this.#change(number, { sent });
  }

  /** Deletes a saved draft. If the person has typed more meanwhile, the saved value becomes its base. */
  saved(number, typed, stored) {
    if (this.get(number)?.typed === typed) this.delete(number);
    else this.rebase(number, stored);
  }

  /** Sets the stored value that the draft replaces. */
  rebase(number, base) {
    this.#change(number, { base });
  }

  /** Moves the draft to another grant. */
  adopt(number, fence) {
    this.#change(number, { fence });
  }

  delete(number) {
    this.#put(number, null);
  }

  /** Returns the draft of a line if it differs from the value that the page shows as stored; otherwise null. */
  compare(row, field) {
    const draft = this.get(Number(row.dataset.line));
    const stored = field.defaultValue;
    // If another text was sent and is not yet stored, the stored value will change in a moment.
    const arrived = draft?.sent === undefined || same(row, draft.sent, stored);
    if (!draft || (arrived && same(row, draft.typed, stored))) return null;
    if (draft.sent !== undefined && arrived) draft.base = stored;
    return draft;
  }

  /** Whether the stored value has changed since the draft was started. */
  conflicts(row, field) {
    const draft = this.compare(row, field);
    return draft !== null && draft.base !== field.defaultValue;
  }

  #change(number, values) {
    const draft = this.#lines.get(number);
    if (draft) this.#put(number, { ...draft, ...values });
  }

  /** Writes one line only, because another window may have changed the draft of another line. */
  #put(number, draft) {
    const all = kept(this.#key);
    for (const lines of [this.#lines, all]) {
      if (draft) lines.set(number, draft);
      else lines.delete(number);
    }
    keep(this.#key, all);
  }
}
