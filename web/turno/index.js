// Turno in the browser: a lease that a page holds, kept alive only while a person really works.
//
// The module never reports `held` for a lease that may have ended. A renewal counts from the moment its request was
// *sent*. After sleep, in a frozen tab or without a connection the state is `unknown` until the server answers. The module
// sends heartbeats only while the tab is visible and the person is active, and the tabs of one person share them. It draws
// nothing: the page shows the states.
//
// One file without dependencies, to be loaded from the server or copied. Types: turno.d.ts. Guide: docs/guides/browser.md.

// @ts-check

export { TurnoError } from './answer.js';
export { Turno, tokenFrom } from './client.js';
export { TurnoLeaseElement } from './element.js';
export { Lease } from './lease.js';
export { follow } from './stream.js';
