// The rules of the waiting line without a browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ANA, Page, free, locked, losing, waiting } from './rules.mjs';

test('a place in line is confirmed before a third of its time is over', () => {
  const page = waiting();
  assert.deepEqual([page.state.turn, page.timer('turn')], [{ position: 2, offered: false }, 10_000]);
  page.passes(10_000).fires('turn');
  assert.deepEqual(page.sent.map(({ name, body }) => [name, body]), [['keepTurn', { keep: true }]]);
});

test('a place in line given up on another page is not taken anew', () => {
  const page = waiting().passes(10_000).fires('turn');
  page.answer(page.sent[0], locked({ ticket_expires_in_ms: null }));
  assert.deepEqual([page.state.turn, page.sentNames, page.events], [null, [], ['turn']]);
});

test('a page that took its place and slept past its expiry goes to the back of the line', () => {
  const page = waiting().passes(31_000).fires('turn');
  page.answer(page.sent[0], locked({ ticket_expires_in_ms: null }));
  assert.deepEqual(page.sent.map(({ name, body }) => [name, body]), [['rejoin', {}]]);
  page.answer(page.sent[0], locked({ position: 5, ticket_expires_in_ms: 30_000 }));
  assert.equal(page.state.turn.position, 5);
});

test('a place that another page took is kept, and never taken anew after a sleep', () => {
  const page = new Page();
  page.answer(page.sent[0], locked({ position: 1 }));
  assert.deepEqual(page.sent.map(({ body }) => body), [{ keep: true }]);
  page.answer(page.sent[0], locked({ position: 1, ticket_expires_in_ms: 30_000 })).passes(31_000).fires('turn');
  page.answer(page.sent[0], locked({ ticket_expires_in_ms: null }));
  assert.deepEqual([page.state.turn, page.sentNames], [null, []]);
});

test('a place that was given up while it was taken anew is given back', () => {
  const page = waiting().passes(31_000).fires('turn');
  page.answer(page.sent[0], locked({ ticket_expires_in_ms: null }));
  const [rejoin] = page.sent;
  page.input('leaveTurn', { call: 4 }).answer(rejoin, locked({ position: 5, ticket_expires_in_ms: 30_000 }));
  assert.deepEqual(page.sent.map(({ name, method }) => [name, method]), [['returnTurn', 'DELETE']]);
});

test('a missed offer costs the place', () => {
  const page = waiting();
  const offer = { state: 'offered', position: 1, offered_to: ANA, offer_expires_in_ms: 30_000 };
  page.answer(page.request('refresh', { call: 2 }), free(offer));
  assert.deepEqual([page.shown, page.events, page.timer('offer')], ['offered', ['turn', 'offered'], 30_000]);
  page.passes(30_000).fires('offer');
  assert.deepEqual([page.event('turn').missed, page.state.turn], [true, null]);
  assert.deepEqual(page.sent.map(({ method, verb }) => [method, verb]), [['DELETE', 'turn']]);
});

test('the end of a task ends the place in its line', () => {
  const page = waiting().input('event', { event: { name: 'lease.line_closed', detail: 'completed' } });
  assert.deepEqual([page.event('turn').over, page.state.turn], ['completed', null]);
});

test('a taken place shows the holder again after a loss', () => {
  const page = losing();
  page.answer(page.request('takeTurn', { call: 2 }), locked({ position: 1, ticket_expires_in_ms: 30_000 }));
  assert.deepEqual([page.shown, page.state.lost], ['other', null]);
});
