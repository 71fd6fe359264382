// The lines of a task that is processed: fields that can be edited exactly while the lock is held.
//
// What is typed is kept in the browser at once (typed.js) and saved by itself when the typing stops, when the field is
// left and when the page goes away; always with the fence, so that a page that is wrong about its lock spoils nothing.

import { all, words } from './said.js';
import { Drafts, amountOf, same, stored, values } from './typed.js';

/** What found no answer is tried again after this long. */
const RETRY_MS = 2_000;
/** Who has not typed for so long has stopped for now. */
const TYPED_MS = 600;
/** A finger that is never said to be lifted must not keep the page from showing anything. */
const PRESS_MS = 1_500;

const FIELDS = '#process .amount :is(input, textarea)';
const rowOf = (number) => document.getElementById(`line-${number}`);
const numberOf = (row) => Number(row.dataset.line);

export class Lines {
  #turno;
  #path;
  #user;
  /** The lock, if there is one to be had. */
  #lease;
  #editable;
  /** Called whenever lines were shown anew. */
  #shown;
  /** Reads the page again. */
  #read;
  #drafts;
  /** What is said under each line: `{tone, name, text}`. */
  #notes = new Map();
  #saving = new Map();
  /** What this page has saved last. */
  #last = new Map();
  #typing = new Map();
  /** The ownerships that this page has had. */
  #own = new Set();
  #pressed = null;
  /** Whoever leaves was asked already. */
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
    // Before the lock is given back, which is done by whoever listens after this.
    addEventListener('pagehide', () => this.#leave());
    addEventListener('beforeunload', (event) => {
      if (!this.#abandoned && this.#drafts.numbers().some((number) => rowOf(number) && !this.#sendable(number))) event.preventDefault();
    });
    addEventListener('online', () => this.saveAll());
  }

  /** What a mouse is pressed on must still be there when it is let go, or the click is none: nothing moves meanwhile. */
  #press() {
    clearTimeout(this.#pressed);
    this.#pressed = setTimeout(() => this.#lift(), PRESS_MS);
  }

  #lift() {
    clearTimeout(this.#pressed);
    this.#pressed = null;
    this.show();
  }

  /** Whether something was typed and is not saved. */
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
      // That cannot wait for anybody's finger.
      field.readOnly = !this.#editable();
      if (!this.#pressed) this.#showLine(row, field, gone);
    }
    this.#shown();
  }

  /** What was typed into a line that cannot be edited any more, since somebody has applied it or the task is over: it stays to
   * be read and copied until whoever typed it is done with it. */
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
    // What is stored is kept no longer. Another window in which this person types knows better what is: it is theirs then.
    if (!draft && this.#drafts.get(number) && !['elsewhere', 'unknown', undefined].includes(this.#lease()?.state)) {
      this.#drafts.delete(number);
    }
    const shown = draft?.typed ?? field.defaultValue;
    // Whoever is still typing keeps their commas and their new line, though it was saved without.
    const typing = field === document.activeElement && !field.readOnly && same(row, field.value, shown);
    if (!typing && field.value !== shown) field.value = shown;
    const conflict = this.#drafts.conflicts(row, field);
    // Nothing is tried again without the lock.
    if (gone && this.#notes.get(number)?.name === 'retrying') this.#notes.delete(number);
    let note = this.#notes.get(number);
    if (conflict) note = { tone: 'warn', text: this.#conflict(row, field) };
    else if (draft && !note) note = { tone: 'warn', name: 'unsaved', text: words('unsaved') };
    tellNote(row, field, note);
    const tool = (name) => row.querySelector(`[data-do="${name}"]`);
    // What is being typed or saved is saved by itself: buttons that come and go would only be stumbled over.
    const flows = editable && !conflict && draft?.fence === this.#lease().fence;
    const calm = flows && (field === document.activeElement ? !note?.tone || note.name === 'unsaved' : note?.tone === '');
    tool('validate').hidden = !editable;
    tool('save').hidden = !draft || !editable || calm || Boolean(values(row, draft.typed).wrong);
    tool('discard').hidden = !draft || calm;
    row.classList.toggle('unsaved', Boolean(draft));
  }

  /** Who saved what differs, as the page that was read last says. */
  #conflict(row, field) {
    const { savedBy, savedName } = row.dataset;
    const saved = field.defaultValue.replaceAll('\n', ', ') || '—';
    if (savedBy === this.#user) return words('conflictMine', { saved });
    return savedName ? words('conflictBy', { name: savedName, saved }) : words('conflict', { saved });
  }

  /** Says something under a line, or nothing any more. */
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
    // What makes no sense yet is not complained about while somebody is at it.
    this.#typing.set(number, setTimeout(() => this.#sendable(number) && void this.save(number), TYPED_MS));
  }

  /** Whether what was typed can be saved as it is, without anybody's look at it. */
  #sendable(number) {
    const [row, draft] = [rowOf(number), this.#drafts.get(number)];
    if (!row || !draft || !this.#editable() || draft.fence !== this.#lease().fence) return false;
    return !values(row, draft.typed).wrong && !this.#drafts.conflicts(row, amountOf(row));
  }

  /** The page goes away: what was typed goes ahead of the lock. Nobody hears the answer; the draft is kept until then. */
  #leave() {
    for (const number of this.#drafts.numbers().filter((number) => this.#sendable(number))) {
      const body = this.#patch(rowOf(number), values(rowOf(number), this.#drafts.get(number).typed));
      this.#turno.farewell(`${this.#path}/lines/${number}`, body, 'PATCH');
      this.#drafts.sent(number, this.#drafts.get(number).typed);
    }
  }

  /** What is sent of a line. The version goes along: another window of this person has the same fence, and may be faster. */
  #patch(row, values) {
    return { fence: this.#lease().fence, version: row.dataset.version, ...values };
  }

  /** Saves what was typed into a line, one save after the other; says whether nothing is left to be saved. */
  save(number) {
    clearTimeout(this.#typing.get(number));
    const turn = (this.#saving.get(number) ?? Promise.resolve()).then(() => this.#save(number));
    this.#saving.set(number, turn);
    return turn;
  }

  /** What was typed and not saved, because nobody answered or the page was reloaded. What was typed under another
   * ownership needs a look first (`saveOwn`). */
  saveAll() {
    for (const number of this.#drafts.numbers()) if (this.#sendable(number)) void this.save(number);
  }

  /** What is on its way. */
  settled() {
    return Promise.allSettled(this.#saving.values());
  }

  /** Saves what can be saved as it is; says whether some of it still waits for an answer. */
  async saveSendable() {
    await Promise.allSettled(this.#drafts.numbers().filter((number) => this.#sendable(number)).map((number) => this.save(number)));
    await this.settled();
    // The next try may have begun in the very moment in which the last one ended.
    return this.#drafts.numbers().some((number) => ['retrying', 'saving'].includes(this.#notes.get(number)?.name));
  }

  /** The first field whose text is not saved, if there is one. */
  get left() {
    return amountOf(all('#process [data-line]').find((row) => amountOf(row) && this.#drafts.compare(row, amountOf(row))));
  }

  /** What is not saved stays in the browser, and nobody is asked about it again. */
  abandon() {
    this.#abandoned = true;
  }

  /** This page has the lock: what it typed before is saved. */
  held(fence) {
    this.#own.add(fence);
    this.saveAll();
  }

  /** What was typed here before this page lost the lock and took it again: saved at once where nobody has touched the line. */
  async saveOwn() {
    const older = this.#drafts.numbers().filter((number) => this.#own.has(this.#drafts.get(number).fence));
    if (!older.length || !this.#editable()) return;
    // Asked for after the claim: from now on nobody else can change it.
    const { fence } = this.#lease();
    const { lines } = await this.#turno.call('GET', this.#path);
    for (const { number, serials, quantity } of lines) {
      const untouched = this.#drafts.get(number)?.base === stored({ serials, quantity });
      if (older.includes(number) && untouched && this.#lease().fence === fence) this.#drafts.adopt(number, fence);
    }
    this.saveAll();
  }

  /** Saves everything; answers with what keeps it from being saved: `{line, why, field}`, or nothing. */
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
    // What another has saved meanwhile is overwritten only by somebody who was told of it and says so.
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

  /** Why not, in the place where it was tried. */
  refused(number, error) {
    // That nobody is signed in any more is said for the whole page.
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

  /** Who saved what is shown by the page as it is now, beside what was typed here. */
  async #catchUp(number) {
    await this.#read();
    const field = amountOf(rowOf(number));
    if (!field) return;
    // It was this very page, which has not heard the answer.
    if (!this.#drafts.compare(rowOf(number), field)) return this.note(number, 'good', 'saved');
    if (field.defaultValue !== this.#last.get(number)) return;
    // It was this very page, which has been shown an older reading since: no conflict.
    this.#drafts.rebase(number, field.defaultValue);
    void this.save(number);
  }

  /** Whoever saves over what another has saved was told so, and means it. */
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

  /** Enter goes on to the next line, which saves this one; with Ctrl it finalizes. */
  static keys(event, editable) {
    const field = event.target.closest?.(FIELDS);
    const whole = event.ctrlKey || event.metaKey;
    // With Ctrl it is meant for the task, wherever on its page somebody stands.
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
