// Which of the new tasks that a person is writing belongs to this window: each window has its own, so that two of them do
// not write over each other. What a window that is gone has left behind goes to the next one that is opened.

/** Windows that live answer within this long. */
const ANSWER_MS = 150;
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

/** This window's; `left` are those in which something is kept. From now on others that ask are told that it is taken. */
export async function slotOf(user, left) {
  const taken = new Set();
  let own = null;
  if (globalThis.BroadcastChannel) {
    const channel = new BroadcastChannel(`turno:slots:${user}`);
    channel.onmessage = ({ data }) => {
      if (data.taken) taken.add(data.taken);
      else if (own) channel.postMessage({ taken: own });
    };
    channel.postMessage({ asked: true });
    await new Promise((resolve) => setTimeout(resolve, ANSWER_MS));
  }
  // The tab's own memory is copied with the tab: somebody else may live in it.
  const mine = before();
  const wished = left.includes(mine) ? [mine] : [...left, mine];
  own = wished.find((slot) => slot && !taken.has(slot)) ?? fresh();
  remember(own);
  return own;
}
