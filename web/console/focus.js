// Keeps the keyboard focus. Reading the page again can replace or hide the focused control; then the focus moves to its
// successor and not to the top of the page.

/** The focused control: its kind, the element around it, and its index among controls of the same kind. */
let place = null;

const within = (scope) => (scope && document.getElementById(scope)) || document;

/** Returns what identifies a control when the element itself was replaced. */
function kind(element) {
  const does = ['data-do', 'popovertarget', 'href', 'name'].map((name) => element.getAttribute(name)).find(Boolean);
  // A typed value does not identify a field, but the value of a choice does.
  const value = element.matches('button, [type="checkbox"], [type="radio"]') ? element.value : '';
  return element.id || `${element.tagName} ${does ?? element.textContent.trim()} ${value}`;
}

const alike = ({ tag, what, scope }) => [...within(scope).querySelectorAll(tag)].filter((one) => kind(one) === what);

function stands(element) {
  const found = { tag: element.tagName, what: kind(element), scope: element.parentElement?.closest('[id]')?.id };
  place = { ...found, nth: alike(found).indexOf(element), does: element.dataset.do, line: element.closest('[data-line]')?.dataset.line };
}

/** Whether no visible control has the focus. */
export function nowhere() {
  const focused = document.activeElement;
  return !focused || focused === document.body || !focused.checkVisibility();
}

/** Moves a lost focus to the control that replaced the focused one, or else to `next({does, line})`. */
export function keepFocus(next = () => null) {
  if (!place || !nowhere()) return;
  const seen = alike(place).filter((one) => one.checkVisibility());
  (seen[place.nth] ?? seen[0] ?? next(place))?.focus();
}

document.addEventListener('focusin', ({ target }) => stands(target));
// A person who moves the focus is not moved back.
document.addEventListener('pointerdown', () => (place = null), { capture: true });
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Tab') return;
  place = null;
  const question = document.querySelector('dialog:popover-open');
  if (question) goAround(question, event);
}, { capture: true });

const STOPS = 'a[href], button, input, select, textarea, summary, [tabindex]';

/** Keeps the focus inside an open dialog: after its last control comes its first. */
function goAround(question, event) {
  const stops = [...question.querySelectorAll(STOPS)].filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility());
  const at = stops.indexOf(document.activeElement);
  const [first, last] = event.shiftKey ? [stops.at(-1), stops[0]] : [stops[0], stops.at(-1)];
  if (at !== -1 && stops[at] !== last) return;
  event.preventDefault();
  first?.focus();
}
