// What this tab held when its page was left, so that a reload continues with it.

/** A reload within this time continues with the lease, if it is still free. */
export const RETURN_MS = 60_000;

/** The stored grant. It is written when the page is left, so that a duplicated tab does not find it. */
export const behind = {
  note(key, grant) {
    try {
      sessionStorage.setItem(key, JSON.stringify({ ...grant, at: Date.now() }));
    } catch {
      // Without storage, a reload starts from what the server says.
    }
  },
  take(key) {
    try {
      const found = JSON.parse(sessionStorage.getItem(key));
      sessionStorage.removeItem(key);
      return found && Date.now() - found.at < RETURN_MS ? found : null;
    } catch {
      return null;
    }
  },
};

export const reloaded = () => performance.getEntriesByType('navigation')[0]?.type === 'reload';
