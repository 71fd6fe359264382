// Selects a quantity when its field gets the focus, so that typing replaces it. Otherwise 9 typed over 15 becomes 915.

const QUANTITY = '#process .amount input';
let pressed = false;
/** The field that a pressed pointer has focused. */
let focused = null;

document.addEventListener('focusin', ({ target }) => {
  if (!target.matches(QUANTITY)) return;
  target.select();
  focused = pressed ? target : null;
});

for (const [name, down] of [['pointerdown', true], ['pointerup', false], ['pointercancel', false]]) {
  document.addEventListener(name, () => { pressed = down; }, { capture: true });
}

// The browser sets the caret when the pointer is released, which would end the selection. A second click sets the caret.
document.addEventListener('mouseup', (event) => {
  if (focused && focused === event.target) {
    event.preventDefault();
    focused.select();
  }
  focused = null;
});
