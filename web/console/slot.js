// Which of the new tasks that a person is writing belongs to this window: each window has its own, so that two of them do
// not write over each other. What a window that is gone has left behind goes to the next one that is opened.

/** Where nobody can be asked for a lock, windows that live answer within this long. */
const ANSWER_MS = 150;
/** A window that is reloaded lets go of what it had within this long; whoever waits for it in vain is a copy. */
const LET_GO_MS = 1_000;
const KEY = 'turno:slot';

/** The one that this tab had before, if the browser lets it remember. */
function before() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function remember(slot) {
  try {
    sessionStorage.setItem(KEY, slot);
  } catch {
    // After a reload it is found among those that nobody has.
  }
}

const fresh = () => `draft-new-${Math.random().toString(36).slice(2, 10)}`;

/** Whether this window has it from now on, until it is gone. */
function locked(name, options) {
  return new Promise((resolve) => {
    const had = (lock) => {
      resolve(lock !== null);
      return lock && new Promise(() => {});
    };
    navigator.locks.request(name, options, had).catch(() => resolve(false));
  });
}

/** The first of these that no other window has, by the browser's own word. */
async function free(user, wished, mine) {
  for (const slot of wished) {
    const name = `turno:slot:${user}:${slot}`;
    if (await locked(name, { ifAvailable: true })) return slot;
    if (slot === mine && (await locked(name, { signal: AbortSignal.timeout(LET_GO_MS) }))) return slot;
  }
  return null;
}

/** The same by asking around. From now on others that ask are told which one is taken. */
async function unclaimed(user, wished) {
  const taken = new Set();
  if (!globalThis.BroadcastChannel) return null;
  const channel = new BroadcastChannel(`turno:slots:${user}`);
  let own = null;
  channel.onmessage = ({ data }) => {
    if (data.taken) taken.add(data.taken);
    else if (own) channel.postMessage({ taken: own });
  };
  channel.postMessage({ asked: true });
  await new Promise((resolve) => setTimeout(resolve, ANSWER_MS));
  own = wished.find((slot) => !taken.has(slot)) ?? null;
  return own;
}

/** This window's; `left` are those in which something is kept. */
export async function slotOf(user, left) {
  // The tab's own memory is copied with the tab: somebody else may live in it.
  const mine = before();
  // The last one is nobody's yet.
  const wished = [...(left.includes(mine) ? [mine] : [...left, mine]), fresh()].filter(Boolean);
  const own = (await (navigator.locks ? free(user, wished, mine) : unclaimed(user, wished))) ?? wished.at(-1);
  remember(own);
  return own;
}
