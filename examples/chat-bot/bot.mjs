#!/usr/bin/env node
// A chat bot with nothing but Node (18 or newer): node bot.mjs [COUNT]
// Answers so many conversations and ends; without a number it goes on.
const queue = `${process.env.TURNO_URL ?? "http://127.0.0.1:7171"}/v1/queues/bot`;
const me = `bot-js-${process.pid}`;

async function api(what, body) {
  const headers = { authorization: `Bearer ${process.env.TURNO_TOKEN}`, "content-type": "application/json" };
  const answer = await fetch(`${queue}/${what}`, { method: "POST", headers, body: JSON.stringify(body) });
  if (answer.ok) return answer.json();
  const error = new Error(`${what}: ${answer.status} ${await answer.text()}`);
  error.lasting = answer.status < 500 && answer.status !== 429;
  throw error;
}

/** Waits up to 20 s for a person who has stopped writing. If the server is away, asks again. */
async function claim() {
  try {
    return (await api("claim", { instance: me, wait_ms: 20_000 })).deliveries;
  } catch (error) {
    if (error.lasting) throw error;
    await new Promise((wake) => setTimeout(wake, 1_000));
    return [];
  }
}

/** Answers the messages before the first one without text. Returns the id of that one, if there is one. */
async function answer({ key, items, fence }) {
  const end = items.findIndex((item) => !item.payload?.text);
  const texts = items.slice(0, end < 0 ? items.length : end).map((item) => item.payload.text);
  // Here it would call WhatsApp, with the fence, so that a bot that comes late can be refused.
  if (texts.length > 0) console.log(`${key}: ${texts.join(" | ")}`);
  return items[end]?.id;
}

async function work(got) {
  const named = { delivery: got.delivery, fence: got.fence };
  try {
    const poison = await answer(got);
    if (poison === undefined) return await api("ack", { deliveries: [named] });
    // Those before it are answered, it fails for good, those behind it come again.
    await api("fail", { deliveries: [{ ...named, error: "a message without a text", item: poison, final: true }] });
  } catch (error) {
    // Tried again later, as the queue's policy says; the error is kept with the messages.
    await api("fail", { deliveries: [{ ...named, error: String(error) }] });
  }
}

let left = Number(process.argv[2] ?? -1);
while (left !== 0) {
  for (const got of await claim()) {
    await work(got);
    left -= 1;
  }
}
