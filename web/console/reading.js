// Reads the page again and merges the changes in place.

export const LIVE = '#live';

let running = null;
let following = null;

async function start() {
  const address = location.pathname + location.search;
  try {
    await window.htmx.ajax('GET', address, { target: LIVE, select: LIVE, swap: 'outerMorph', source: LIVE });
  } catch {
    // console.js listens to the error events of htmx.
  }
}

/** Reads the page, one read at a time. The read starts after this call, so that it shows everything done before the call. */
export function readPage() {
  if (!running) return (running = start().finally(() => (running = null)));
  following ??= running.then(() => {
    following = null;
    return readPage();
  });
  return following;
}
