// Reading the page again: what changed is merged in place.

export const LIVE = '#live';

let running = null;
let following = null;

async function start() {
  const address = location.pathname + location.search;
  try {
    await window.htmx.ajax('GET', address, { target: LIVE, select: LIVE, swap: 'outerMorph', source: LIVE });
  } catch {
    // Whoever listens to htmx hears of it.
  }
}

/** One read at a time. What is read was asked for after this call, so that whatever was done before it is seen. */
export function readPage() {
  if (!running) return (running = start().finally(() => (running = null)));
  following ??= running.then(() => {
    following = null;
    return readPage();
  });
  return following;
}
