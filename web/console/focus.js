// Whoever works with the keyboard stays where they were. What is read again or hidden may take the control away on which
// they stand; then they go on with its successor, and are not left at the top of the page.

/** Where somebody stands: what it is, in what, and the how many-th of its kind. */
let place = null;

const within = (scope) => (scope && document.getElementById(scope)) || document;

/** What makes a control the same though the element is another. */
function kind(element) {
  const does = ['data-do', 'popovertarget', 'href', 'name'].map((name) => element.getAttribute(name)).find(Boolean);
  // What somebody types is no part of what it is; which of several to choose from is.
  const value = element.matches('button, [type="checkbox"], [type="radio"]') ? element.value : '';
  return element.id || `${element.tagName} ${does ?? element.textContent.trim()} ${value}`;
}

const alike = ({ tag, what, scope }) => [...within(scope).querySelectorAll(tag)].filter((one) => kind(one) === what);

function stands(element) {
  const found = { tag: element.tagName, what: kind(element), scope: element.parentElement?.closest('[id]')?.id };
  place = { ...found, nth: alike(found).indexOf(element), does: element.dataset.do, line: element.closest('[data-line]')?.dataset.line };
}

/** Nobody stands anywhere that can be seen. */
export function nowhere() {
  const focused = document.activeElement;
  return !focused || focused === document.body || !focused.checkVisibility();
}

/** Goes on where somebody stood, or else at what `next({does, line})` names. */
export function keepFocus(next = () => null) {
  if (!place || !nowhere()) return;
  const seen = alike(place).filter((one) => one.checkVisibility());
  (seen[place.nth] ?? seen[0] ?? next(place))?.focus();
}

document.addEventListener('focusin', ({ target }) => stands(target));
// Whoever goes on by themselves is not called back.
document.addEventListener('pointerdown', () => (place = null), { capture: true });
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Tab') return;
  place = null;
  const question = document.querySelector('dialog:popover-open');
  if (question) goAround(question, event);
}, { capture: true });

const STOPS = 'a[href], button, input, select, textarea, summary, [tabindex]';

/** Who is asked something stays with the question until it is answered or closed: after its last control comes its first. */
function goAround(question, event) {
  const stops = [...question.querySelectorAll(STOPS)].filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility());
  const at = stops.indexOf(document.activeElement);
  const [first, last] = event.shiftKey ? [stops.at(-1), stops[0]] : [stops[0], stops.at(-1)];
  if (at !== -1 && stops[at] !== last) return;
  event.preventDefault();
  first?.focus();
}
