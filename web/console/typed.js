// What somebody has typed into the lines of a task, or into the form of a draft, and the server has not stored yet.
//
// It outlives a lost lock, a lost connection, a reload and a closed tab: nobody types twice. Kept in this browser under
// the person's name, with every key press, and shared by their windows; gone once it is saved or discarded, or with time.

/** The server's own bound (`limits.rs`), which the sentence names. */
const QUANTITY_MAX = 1_000_000_000_000;
/** What nobody came back for in so long is not waited for. */
const KEPT_MS = 7 * 24 * 60 * 60 * 1_000;
const PREFIX = 'turno:typed:';

/** The field of a line; nothing for a line that is applied. */
export const amountOf = (row) => row?.querySelector('.amount :is(input, textarea)');

/** What a line's field means for the API, or which sentence says what is wrong with it. */
export function values(row, typed) {
  if (row.dataset.kind === 'serialized') {
    const serials = typed.split(/[\s,;]+/).filter(Boolean);
    return serials.length ? { serials } : { wrong: 'badSerials' };
  }
  const quantity = Number(typed);
  const fits = typed.trim() && Number.isInteger(quantity) && quantity > 0 && quantity <= QUANTITY_MAX;
  return fits ? { quantity } : { wrong: 'badQuantity' };
}

/** What the server has stored in a line, as its field shows it. */
export const stored = ({ serials, quantity }) => (serials ? serials.join('\n') : String(quantity));

/** Whether two texts in the field of a line mean the same: spaces and commas are nobody's work. */
export function same(row, one, other) {
  const [left, right] = [values(row, one), values(row, other)];
  return one === other || (!left.wrong && !right.wrong && stored(left) === stored(right));
}

/** What is kept under a key: by the number of the line. */
function kept(key) {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? '[]');
    return new Map(found.filter(([, { at }]) => Date.now() - at < KEPT_MS));
  } catch {
    // Without storage, or with something else in it, there is nothing to go on with.
    return new Map();
  }
}

function keep(key, lines) {
  try {
    if (lines.size) localStorage.setItem(key, JSON.stringify([...lines]));
    else localStorage.removeItem(key);
  } catch {
    // Full or forbidden: it is still on the page.
  }
}

/** Tasks that nobody opens again would leave what was typed into them behind for ever. */
function sweep() {
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) keep(key, kept(key));
  } catch {
    // Nothing is kept, then.
  }
}

/** Under which names something of this person is kept that begin so, the newest first. */
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

/** The form of a draft that the server says it has saved: what is kept of it has arrived. */
export function forgetSaved(user) {
  const saved = /(?:^|; )turno_saved=([a-z0-9-]+)/.exec(document.cookie)?.[1];
  if (!saved) return;
  document.cookie = 'turno_saved=; Path=/; Max-Age=0; SameSite=Lax';
  keep(`${PREFIX}${user}:${saved}`, new Map());
}

/** By the number of the line: what was `typed`, under which `fence`, and what the server had at that time (`base`). */
export class Drafts {
  #key;
  #lines;

  /** `changed` is called when another window of this person has typed, saved or discarded something. */
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

  /** This was sent to be saved: should the server show it before it has answered, that is no conflict. */
  sent(number, sent) {
    this.#change(number, { sent });
  }

  /** This was saved. Whoever has typed on meanwhile has typed onto it. */
  saved(number, typed, stored) {
    if (this.get(number)?.typed === typed) this.delete(number);
    else this.rebase(number, stored);
  }

  /** What is stored is known, and shall be replaced. */
  rebase(number, base) {
    this.#change(number, { base });
  }

  /** It goes on under another ownership. */
  adopt(number, fence) {
    this.#change(number, { fence });
  }

  delete(number) {
    this.#put(number, null);
  }

  /** The draft of a line as it stands beside what this page shows as stored; nothing if both mean the same. */
  compare(row, field) {
    const draft = this.get(Number(row.dataset.line));
    const stored = field.defaultValue;
    // Something else may be on its way to be stored: then what looks like it will be none of it in a moment.
    const arrived = draft?.sent === undefined || same(row, draft.sent, stored);
    if (!draft || (arrived && same(row, draft.typed, stored))) return null;
    if (draft.sent !== undefined && arrived) draft.base = stored;
    return draft;
  }

  /** Whether somebody else has stored something since this was typed. */
  conflicts(row, field) {
    const draft = this.compare(row, field);
    return draft !== null && draft.base !== field.defaultValue;
  }

  #change(number, values) {
    const draft = this.#lines.get(number);
    if (draft) this.#put(number, { ...draft, ...values });
  }

  /** Line by line: another window may have kept something about another one meanwhile. */
  #put(number, draft) {
    const all = kept(this.#key);
    for (const lines of [this.#lines, all]) {
      if (draft) lines.set(number, draft);
      else lines.delete(number);
    }
    keep(this.#key, all);
  }
}
