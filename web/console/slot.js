// The slot of this window for a new task. Each window has its own slot, so that two windows do not write over each other's
// unsaved text. The slot of a closed window goes to the next window that is opened.

/** Without the Locks API, other windows answer within this long. */
const ANSWER_MS = 150;
/** A reloaded window gets its slot back within this long. If it does not, it is a copy of another window. */
const LET_GO_MS = 1_000;
const KEY = 'turno:slot';

/** Returns the slot that this tab had before; null without storage. */
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
    // Without storage, a reload finds the slot among the free ones.
  }
}

const fresh = () => `draft-new-${Math.random().toString(36).slice(2, 10)}`;

/** Takes a browser lock until this window is closed. Returns whether it got the lock. */
function locked(name, options) {
  return new Promise((resolve) => {
    const had = (lock) => {
      resolve(lock !== null);
      return lock && new Promise(() => {});
    };
    navigator.locks.request(name, options, had).catch(() => resolve(false));
  });
}

/** Returns the first slot that no other window has, by browser locks. */
async function free(user, wished, mine) {
  for (const slot of wished) {
    const name = `turno:slot:${user}:${slot}`;
    if (await locked(name, { ifAvailable: true })) return slot;
    if (slot === mine && (await locked(name, { signal: AbortSignal.timeout(LET_GO_MS) }))) return slot;
  }
  return null;
}

/** Does the same by asking the other windows. From then on this window answers which slot it has. */
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

/** Returns the slot of this window. `left` are the slots with kept text. */
export async function slotOf(user, left) {
  // A duplicated tab copies the storage, so another window may have this slot.
  const mine = before();
  // The last one is new, so it is free.
  const wished = [...(left.includes(mine) ? [mine] : [...left, mine]), fresh()].filter(Boolean);
  const own = (await (navigator.locks ? free(user, wished, mine) : unclaimed(user, wished))) ?? wished.at(-1);
  remember(own);
  return own;
}
