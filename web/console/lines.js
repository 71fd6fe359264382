// The lines of a task in process mode: their fields can be edited only while the lock is held.
//
// Typed text is kept in the browser at once (typed.js). It is saved when the person stops typing, leaves the field or leaves
// the page. Every save carries the fence, so a page that is wrong about its lock changes nothing.

import { all, words } from './said.js';
import { Drafts, amountOf, same, stored, values } from './typed.js';

/** A save without an answer is sent again after this long. */
const RETRY_MS = 2_000;
/** A person who has not pressed a key for this long has stopped typing. */
const TYPED_MS = 600;
/** The longest time for which a pressed pointer delays changes, because browsers can omit `pointerup`. */
const PRESS_MS = 1_500;

const FIELDS = '#process .amount :is(input, textarea)';
const rowOf = (number) => document.getElementById(`line-${number}`);
const numberOf = (row) => Number(row.dataset.line);

export class Lines {
  #turno;
  #path;
  #user;
  /** Returns the lease; null if the task cannot be processed. */
  #lease;
  #editable;
  /** Called after the lines were shown anew. */
  #shown;
  /** Reads the page again. */
  #read;
  #drafts;
  /** The note under each line: `{tone, name, text}`. */
  #notes = new Map();
  #saving = new Map();
  /** The value of each line that this page saved last. */
  #last = new Map();
  #typing = new Map();
  /** The fences of the grants of this page. */
  #own = new Set();
  /** The value of each line before the first edit under this grant. */
  #before = new Map();
  #pressed = null;
  /** The person was already asked about unsaved text, or must not be asked. */
  #abandoned = false;

  constructor({ turno, task, user, lease, editable, shown, changed, read }) {
    this.#turno = turno;
    this.#path = `/v1/tasks/${task}`;
    this.#user = user;
    this.#lease = lease;
    this.#editable = editable;
    this.#shown = shown;
    this.#read = read;
    this.#drafts = new Drafts(user, task, changed);
    this.#listen();
  }

  #listen() {
    const rowAt = (event) => event.target.closest?.('#process [data-line]');
    document.addEventListener('input', (event) => rowAt(event) && this.#typed(rowAt(event), event.target));
    document.addEventListener('change', (event) => rowAt(event) && this.#lease() && void this.save(numberOf(rowAt(event))));
    document.addEventListener('focusout', (event) => rowAt(event) && this.show());
    document.addEventListener('pointerdown', () => this.#press(), { capture: true });
    for (const name of ['pointerup', 'pointercancel']) document.addEventListener(name, () => setTimeout(() => this.#lift()), { capture: true });
    document.addEventListener('visibilitychange', () => document.hidden && this.saveAll());
    // This listener is added before that of the lease, so the text is sent before the lock is released.
    addEventListener('pagehide', () => this.#leave());
    addEventListener('beforeunload', (event) => {
      if (!this.#abandoned && this.#drafts.numbers().some((number) => rowOf(number) && !this.#sendable(number))) event.preventDefault();
    });
    addEventListener('online', () => this.saveAll());
  }

  /** Delays changes while the pointer is pressed. If the pressed element moved or disappeared, there would be no click. */
  #press() {
    clearTimeout(this.#pressed);
    this.#pressed = setTimeout(() => this.#lift(), PRESS_MS);
  }

  #lift() {
    clearTimeout(this.#pressed);
    this.#pressed = null;
    this.show();
  }

  /** Whether a line has unsaved text. */
  get unsaved() {
    return all('#process [data-line]').some((row) => amountOf(row) && this.#drafts.compare(row, amountOf(row)));
  }

  show() {
    const gone = this.#lease() && !['held', 'unknown'].includes(this.#lease().state);
    for (const row of all('#process [data-line]')) {
      const field = amountOf(row);
      if (!field) {
        this.#showLeft(row);
        continue;
      }
      // Not delayed by a pressed pointer, because without the lock nothing may be typed.
      field.readOnly = !this.#editable();
      if (!this.#pressed) this.#showLine(row, field, gone);
    }
    this.#shown();
  }

  /**
   * Shows the unsaved text of a line that can no longer be edited, because it was applied or the task has ended. The text
   * can be read and copied until the person discards it.
   */
  #showLeft(row) {
    const [number, place] = [numberOf(row), row.querySelector('.amount')];
    const draft = this.#drafts.get(number);
    const left = draft && !same(row, draft.typed, place.dataset.stored) ? draft.typed.trim() : '';
    let said = place.querySelector('.left');
    if (!left) return said?.remove();
    if (said) return;
    said = Object.assign(document.createElement('div'), { className: 'left note warn' });
    const discard = Object.assign(document.createElement('button'), { type: 'button', className: 'tight', textContent: words('discard') });
    discard.addEventListener('click', () => {
      this.#drafts.delete(number);
      this.show();
    });
    const text = Object.assign(document.createElement('p'), { textContent: words('left', { typed: left.replaceAll(/\s*\n\s*/g, ', ') }) });
    said.append(text, discard);
    place.append(said);
  }

  #showLine(row, field, gone) {
    const [number, editable] = [numberOf(row), this.#editable()];
    const draft = this.#drafts.compare(row, field);
    // Deletes a draft that equals the stored value. If another window of this person holds the lock, that window decides.
    if (!draft && this.#drafts.get(number) && !['elsewhere', 'unknown', undefined].includes(this.#lease()?.state)) {
      this.#drafts.delete(number);
    }
    const shown = draft?.typed ?? field.defaultValue;
    // While the person types, the field keeps its separators and new lines, which the stored value lacks.
    const typing = field === document.activeElement && !field.readOnly && same(row, field.value, shown);
    if (!typing && field.value !== shown) field.value = shown;
    const conflict = this.#drafts.conflicts(row, field);
    // Without the lock, no save is sent again.
    if (gone && this.#notes.get(number)?.name === 'retrying') this.#notes.delete(number);
    let note = this.#notes.get(number);
    if (conflict) note = { tone: 'warn', text: this.#conflict(row, field) };
    else if (draft && !note) note = { tone: 'warn', name: 'unsaved', text: words('unsaved') };
    tellNote(row, field, note);
    this.#showBefore(row, field);
    const tool = (name) => row.querySelector(`[data-do="${name}"]`);
    // Hides the buttons while text is typed or saved by itself, because buttons that come and go are in the way.
    const flows = editable && !conflict && draft?.fence === this.#lease().fence;
    const calm = flows && (field === document.activeElement ? !note?.tone || note.name === 'unsaved' : note?.tone === '');
    tool('validate').hidden = !editable;
    tool('save').hidden = !draft || !editable || calm || Boolean(values(row, draft.typed).wrong);
    tool('discard').hidden = !draft || calm;
    row.classList.toggle('unsaved', Boolean(draft));
  }

  /** Shows the value before the edit under a changed value, so that the person notices a wrong key. */
  #showBefore(row, field) {
    const number = numberOf(row);
    if (!this.#before.has(number)) this.#before.set(number, field.defaultValue);
    const [before, place] = [this.#before.get(number), row.querySelector('.was')];
    place.hidden = same(row, field.value, before);
    place.textContent = place.hidden ? '' : words('before', { value: before.replaceAll('\n', ', ') || '—' });
  }

  /** Returns the note about a conflict: who saved the other value, according to the page as it was last read. */
  #conflict(row, field) {
    const { savedBy, savedName } = row.dataset;
    const saved = field.defaultValue.replaceAll('\n', ', ') || '—';
    if (savedBy === this.#user) return words('conflictMine', { saved });
    return savedName ? words('conflictBy', { name: savedName, saved }) : words('conflict', { saved });
  }

  /** Shows a note under a line; without a name, removes it. */
  note(number, tone, name, values) {
    if (name) this.#notes.set(number, { tone, name, text: words(name, values) });
    else this.#notes.delete(number);
    this.show();
  }

  quiet() {
    this.#notes.clear();
  }

  #typed(row, field) {
    if (!this.#editable()) return;
    const number = numberOf(row);
    this.#drafts.type(number, field.value, field.defaultValue, this.#lease().fence);
    this.note(number);
    clearTimeout(this.#typing.get(number));
    // An invalid value is not reported while the person types.
    this.#typing.set(number, setTimeout(() => this.#sendable(number) && void this.save(number), TYPED_MS));
  }

  /** Whether the draft of a line can be saved without a decision of the person. */
  #sendable(number) {
    const [row, draft] = [rowOf(number), this.#drafts.get(number)];
    if (!row || !draft || !this.#editable() || draft.fence !== this.#lease().fence) return false;
    return !values(row, draft.typed).wrong && !this.#drafts.conflicts(row, amountOf(row));
  }

  /** Sends drafts while the page is left, before the lock is released. The answers are ignored, so the drafts are kept. */
  #leave() {
    for (const number of this.#drafts.numbers().filter((number) => this.#sendable(number))) {
      const body = this.#patch(rowOf(number), values(rowOf(number), this.#drafts.get(number).typed));
      this.#turno.farewell(`${this.#path}/lines/${number}`, body, 'PATCH');
      this.#drafts.sent(number, this.#drafts.get(number).typed);
    }
  }

  /** Returns the body of a save. It has the version, because another window of this person has the same fence. */
  #patch(row, values) {
    return { fence: this.#lease().fence, version: row.dataset.version, ...values };
  }

  /** Saves the draft of a line after the save that is under way. Returns whether nothing is left to save. */
  save(number) {
    clearTimeout(this.#typing.get(number));
    const turn = (this.#saving.get(number) ?? Promise.resolve()).then(() => this.#save(number));
    this.#saving.set(number, turn);
    return turn;
  }

  /** Saves every draft of this grant. Drafts of an older grant are compared with the stored values first (`saveOwn`). */
  saveAll() {
    for (const number of this.#drafts.numbers()) if (this.#sendable(number)) void this.save(number);
  }

  /** Waits for the saves under way. */
  settled() {
    return Promise.allSettled(this.#saving.values());
  }

  /** Saves every draft that needs no decision. Returns whether some of them still wait for an answer. */
  async saveSendable() {
    await Promise.allSettled(this.#drafts.numbers().filter((number) => this.#sendable(number)).map((number) => this.save(number)));
    await this.settled();
    // The next try can have started when the last one ended, so `saving` counts, too.
    return this.#drafts.numbers().some((number) => ['retrying', 'saving'].includes(this.#notes.get(number)?.name));
  }

  /** Returns the first field with unsaved text. */
  get left() {
    return amountOf(all('#process [data-line]').find((row) => amountOf(row) && this.#drafts.compare(row, amountOf(row))));
  }

  /** Lets the person leave without a question. Unsaved text stays in the browser. */
  abandon() {
    this.#abandoned = true;
  }

  /** This page holds the lock: saves its drafts. */
  held(fence) {
    if (!this.#own.has(fence)) this.#before.clear();
    this.#own.add(fence);
    this.saveAll();
  }

  /** Saves drafts from before this page lost the lock and claimed it again, for lines that are unchanged since. */
  async saveOwn() {
    const older = this.#drafts.numbers().filter((number) => this.#own.has(this.#drafts.get(number).fence));
    if (!older.length || !this.#editable()) return;
    // Read after the claim, because from then on only this person can change the lines.
    const { fence } = this.#lease();
    const { lines } = await this.#turno.call('GET', this.#path);
    for (const { number, serials, quantity } of lines) {
      const untouched = this.#drafts.get(number)?.base === stored({ serials, quantity });
      if (older.includes(number) && untouched && this.#lease().fence === fence) this.#drafts.adopt(number, fence);
    }
    this.saveAll();
  }

  /** Saves everything. Returns the first line that cannot be saved: `{line, why, field}`; null if all are saved. */
  async saveEverything() {
    const numbers = this.#drafts.numbers().filter(rowOf).sort((one, other) => one - other);
    const saved = await Promise.all(numbers.map((number) => this.save(number)));
    const number = numbers[saved.indexOf(false)];
    if (number === undefined) return null;
    this.#lift();
    return { line: number, why: rowOf(number)?.querySelector('.note').textContent ?? '', field: amountOf(rowOf(number)) };
  }

  async #save(number) {
    const row = rowOf(number);
    const draft = this.#drafts.get(number);
    if (!row || !draft) return true;
    // A value that was saved meanwhile is overwritten only if the person decides so (`insist`).
    if (!this.#editable() || this.#drafts.conflicts(row, amountOf(row))) return false;
    const { typed } = draft;
    const body = values(row, typed);
    if (body.wrong) {
      this.note(number, 'bad', body.wrong);
      return false;
    }
    this.#drafts.sent(number, typed);
    this.note(number, '', 'saving');
    try {
      const line = await this.#turno.call('PATCH', `${this.#path}/lines/${number}`, this.#patch(row, body));
      this.#lease().worked();
      const kept = stored(line);
      this.#last.set(number, kept);
      this.#drafts.saved(number, typed, kept);
      const [now, field] = [rowOf(number), amountOf(rowOf(number))];
      if (field) field.defaultValue = kept;
      if (now) now.dataset.version = line.version;
      if (this.#drafts.get(number)) this.note(number);
      else this.note(number, 'good', 'saved');
      return !this.#drafts.get(number);
    } catch (error) {
      this.refused(number, error);
      return false;
    }
  }

  /** Handles a refused save or validation of a line. */
  refused(number, error) {
    // The whole page shows that the session has ended.
    if (error.status === 401) this.note(number);
    else if (error.code === 'line_changed') {
      this.note(number);
      void this.#catchUp(number);
    }
    else if (error.code === 'lease_lost') {
      this.note(number);
      this.#lease()?.refresh().catch(() => {});
    } else if (error.status && error.status < 500 && error.status !== 429) {
      this.#notes.set(number, { tone: 'bad', text: error.message });
      this.show();
    } else {
      this.note(number, 'warn', 'retrying');
      setTimeout(() => this.#editable() && this.#drafts.get(number) && void this.save(number), RETRY_MS);
    }
  }

  /** Reads the page again after `line_changed`, to show who saved which value beside the typed text. */
  async #catchUp(number) {
    await this.#read();
    const field = amountOf(rowOf(number));
    if (!field) return;
    // This page saved the value and did not get the answer.
    if (!this.#drafts.compare(rowOf(number), field)) return this.note(number, 'good', 'saved');
    if (field.defaultValue !== this.#last.get(number)) return;
    // This page saved the value and then showed an older read of the page, so there is no conflict.
    this.#drafts.rebase(number, field.defaultValue);
    void this.save(number);
  }

  /** Saves over a value that was saved meanwhile. The person has seen that value and decided. */
  insist(number) {
    const row = rowOf(number);
    this.#drafts.rebase(number, amountOf(row).defaultValue);
    if (this.#editable()) this.#drafts.adopt(number, this.#lease().fence);
    return this.save(number);
  }

  discard(number) {
    this.#drafts.delete(number);
    this.note(number);
    amountOf(rowOf(number)).focus();
  }

  /** Enter moves to the next line, which saves this one; Ctrl+Enter finalizes. */
  static keys(event, editable) {
    const field = event.target.closest?.(FIELDS);
    const whole = event.ctrlKey || event.metaKey;
    // Ctrl+Enter finalizes the task from every place on its page.
    const meant = field || (whole && !event.target.closest?.('dialog, form, .side'));
    if (event.key !== 'Enter' || event.isComposing || !meant || !editable) return;
    if (!whole && field.tagName === 'TEXTAREA') return;
    event.preventDefault();
    const stops = [...all(FIELDS), document.querySelector('[data-do="finalize"]')];
    (whole ? stops.at(-1) : stops[stops.indexOf(field) + 1]).focus();
    if (whole) stops.at(-1).click();
  }
}

function tellNote(row, field, note) {
  const place = row.querySelector('.note');
  place.hidden = !note;
  place.className = `note ${note?.tone ?? ''}`;
  if (place.textContent !== (note?.text ?? '')) place.textContent = note?.text ?? '';
  if (note?.tone === 'bad') field.setAttribute('aria-invalid', 'true');
  else field.removeAttribute('aria-invalid');
}
