// What process mode says: in the words that the server gave along with the page, to be seen and to be heard.

export const root = () => document.getElementById('process');
export const all = (selector) => [...document.querySelectorAll(selector)];
export const fill = (text, name, value) => text.replace(`{${name}}`, () => value);
export const words = (name, values = {}) =>
  Object.entries(values).reduce((text, [key, value]) => fill(text, key, value), root()?.dataset[name] ?? '');
export const time = (at) => new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' }).format(new Date(at));

// What is said aloud. It stands outside of what is read again, or it would be said twice.

function speaker(role) {
  const element = document.createElement('p');
  element.className = 'visually-hidden';
  element.setAttribute('role', role);
  document.body.append(element);
  return element;
}
export const calmly = speaker('status');
export const urgently = speaker('alert');

// Sentences about the lock.

const quoted = (message) => (message ? ` «${message}»` : '');
export const asked = ({ by, at, message }) => words('asker', { name: by.name, at: time(at) }) + quoted(message);

/** What became of what this person asked for. */
export function answered({ at, declined_at, answer }, holder) {
  const name = holder?.name ?? '';
  return declined_at ? words('declined', { name, at: time(declined_at) }) + quoted(answer) : words('asked', { name, at: time(at) });
}

export function list(place, texts) {
  if ([...place.children].map((one) => one.textContent).join('\n') === texts.join('\n')) return;
  place.replaceChildren(...texts.map((text) => Object.assign(document.createElement('li'), { textContent: text })));
}

/** Why it was lost, in this page's own words. */
export function whyLost({ cause, by, by_name, note }) {
  const name = `lost${(cause ?? 'other').replace(/^./, (letter) => letter.toUpperCase())}`;
  return words(name in root().dataset ? name : 'lostOther', { name: by_name ?? by ?? '', note: note ?? '' });
}
