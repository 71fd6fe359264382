// What somebody has typed into the lines of a task and the server has not stored yet.
//
// It outlives a lost lock, a lost connection and a reload of the tab: nobody types twice. Kept in this tab's own storage,
// under the person's name, and never longer than the tab lives.

/** The server's own bound (`limits.rs`), which the sentence names. */
const QUANTITY_MAX = 1_000_000_000_000;

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

/** By the number of the line: what was `typed`, under which `fence`, and what the server had at that time (`base`). */
export class Drafts {
  #key;
  #lines = new Map();

  constructor(key) {
    this.#key = key;
    try {
      this.#lines = new Map(JSON.parse(sessionStorage.getItem(key) ?? '[]'));
    } catch {
      // Without storage, or with something else in it, there is nothing to go on with.
    }
  }

  get size() {
    return this.#lines.size;
  }

  numbers() {
    return this.#lines.keys();
  }

  get(number) {
    return this.#lines.get(number) ?? null;
  }

  type(number, typed, stored, fence) {
    const draft = this.#lines.get(number) ?? { base: stored };
    this.#lines.set(number, { ...draft, typed, fence });
    this.#keep();
  }

  /** This was sent to be saved: should the server show it before it has answered, that is no conflict. */
  sent(number, typed) {
    const draft = this.#lines.get(number);
    if (draft) draft.sent = typed;
  }

  /** This was saved. Whoever has typed on meanwhile has typed onto it. */
  saved(number, typed, stored) {
    const draft = this.#lines.get(number);
    if (draft?.typed === typed) this.#lines.delete(number);
    else if (draft) draft.base = stored;
    this.#keep();
  }

  /** What is stored is known, and shall be replaced. */
  rebase(number, stored) {
    const draft = this.#lines.get(number);
    if (draft) draft.base = stored;
    this.#keep();
  }

  /** It goes on under another ownership. */
  adopt(number, fence) {
    const draft = this.#lines.get(number);
    if (draft) draft.fence = fence;
    this.#keep();
  }

  delete(number) {
    this.#lines.delete(number);
    this.#keep();
  }

  /** The draft of a line as it stands beside what the server shows now; nothing if both are the same. */
  compare(number, field) {
    const draft = this.#lines.get(number);
    if (!draft) return null;
    const stored = field.defaultValue;
    if (draft.typed === stored) {
      this.delete(number);
      return null;
    }
    if (draft.sent === stored) draft.base = stored;
    return draft;
  }

  /** Whether somebody else has stored something since this was typed. */
  conflicts(number, field) {
    const draft = this.compare(number, field);
    return draft !== null && draft.base !== field.defaultValue;
  }

  #keep() {
    try {
      if (this.#lines.size) sessionStorage.setItem(this.#key, JSON.stringify([...this.#lines]));
      else sessionStorage.removeItem(this.#key);
    } catch {
      // Full or forbidden: it is still on the page.
    }
  }
}
