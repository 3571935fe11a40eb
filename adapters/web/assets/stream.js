// The chat's tail, as server-sent events. Read by fetch and not by EventSource,
// because that hides the status of a refusal and the heartbeats of a connection
// that may be dead.

const silence = 40_000; // the gateway says something every 15 s
const slowest = 10_000;

// connect calls on.item, on.ready, on.draft, on.typing with their data, and
// on.state with "" (connected) or the words to show. It never ends by itself.
export function connect(on) {
  let seq = 0;
  let failures = 0;
  let current = null;
  let timer = 0;

  async function open() {
    clearTimeout(timer);
    const mine = (current = new AbortController());
    let watchdog = 0;
    const alive = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => mine.abort(), silence);
    };
    let words = "Connection lost, trying again…";
    try {
      alive();
      const answer = await fetch(`/api/stream?after=${seq}`, { signal: mine.signal, cache: "no-store" });
      if (answer.status === 401 || answer.status === 410) return location.reload();
      if (answer.status === 429) words = (await answer.json()).error;
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      failures = 0;
      on.state("");
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        alive();
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop();
        blocks.forEach(dispatch);
      }
    } catch {
      // A lost connection is what the lines below are for.
    }
    clearTimeout(watchdog);
    if (current !== mine) return;
    current = null;
    failures++;
    if (failures > 1) on.state(words);
    timer = setTimeout(open, Math.min(slowest, 300 * 2 ** failures) * (0.7 + 0.6 * Math.random()));
  }

  function dispatch(block) {
    let event = "";
    let data = "";
    for (const line of block.split("\n")) {
      if (line.startsWith("event: ")) event = line.slice(7);
      else if (line.startsWith("data: ")) data = line.slice(6);
    }
    if (!event) return;
    const value = JSON.parse(data);
    if (event === "item") {
      if (value.seq <= seq) return;
      seq = value.seq;
    }
    on[event]?.(value);
  }

  // Come back at once when there is a reason to think that it works again.
  function hurry() {
    if (!current && navigator.onLine !== false && document.visibilityState === "visible") open();
  }
  addEventListener("online", hurry);
  document.addEventListener("visibilitychange", hurry);
  open();
}
