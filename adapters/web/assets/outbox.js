// What the person sent and the gateway did not confirm yet. It outlives the page,
// and what is tried again keeps its id, so that it counts once.

const slowest = 10_000;

// newID works on plain http too, where crypto.randomUUID does not exist.
export function newID() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

// post gives { ok }, { refused: words } where trying again is no use, or
// { failed: words } where it may help, as after 429 and 503.
export async function post(path, body) {
  try {
    const answer = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(20_000),
    });
    if (answer.ok) return { ok: true };
    if (answer.status === 401) location.reload();
    const words = await answer.json().then((v) => v.error, () => "");
    if ([400, 403, 413, 415].includes(answer.status)) return { refused: words || "This was refused." };
    return { failed: words };
  } catch {
    return { failed: "" };
  }
}

export const pause = (tries) => new Promise((done) => setTimeout(done, Math.min(slowest, 500 * 2 ** tries)));

export class Outbox {
  #prefix;
  #queue;
  #busy = false;
  #on;

  // on.sent(id), on.refused(id, text, words), on.waiting(id)
  constructor(user, on) {
    this.#prefix = `dragoman.unsent.${user}.`;
    this.#on = on;
    this.#queue = this.#load();
  }

  get unsent() {
    return [...this.#queue];
  }

  add(text) {
    const message = { id: newID(), text };
    this.#queue.push(message);
    this.#keep(message);
    this.flush();
    return message;
  }

  // flush sends what waits, one after another, until all is gone.
  async flush() {
    if (this.#busy) return;
    this.#busy = true;
    for (let tries = 0; this.#queue.length > 0; ) {
      const message = this.#queue[0];
      const result = await post("/api/messages", message);
      if (result.failed !== undefined) {
        this.#on.waiting(message.id);
        await pause(tries++);
        continue;
      }
      tries = 0;
      this.#queue.shift();
      this.#forget(message);
      if (result.ok) this.#on.sent(message.id);
      else this.#on.refused(message.id, message.text, result.refused);
    }
    this.#busy = false;
  }

  // Each message has an entry of its own, so that two pages do not undo each other's.
  #load() {
    const kept = [];
    try {
      for (const name of Object.keys(localStorage)) {
        if (!name.startsWith(this.#prefix)) continue;
        const { text, at } = JSON.parse(localStorage.getItem(name));
        kept.push({ id: name.slice(this.#prefix.length), text: String(text), at });
      }
    } catch {
      // Storage may be forbidden, or hold what we did not write.
    }
    return kept.sort((a, b) => a.at - b.at).map(({ id, text }) => ({ id, text }));
  }

  #keep({ id, text }) {
    try {
      localStorage.setItem(this.#prefix + id, JSON.stringify({ text, at: Date.now() }));
    } catch {
      // Storage may be full or forbidden; the page still has the queue.
    }
  }

  #forget({ id }) {
    try {
      localStorage.removeItem(this.#prefix + id);
    } catch {
      // Then nothing was kept either.
    }
  }
}
