// What is shown of the chat. Texts go in as text; html is the gateway's own,
// cleaned there.

const near = 80; // pixels from the end that count as being there
const typingFor = 7_000; // the gateway says so again every 4 s

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

export class View {
  #user;
  #press;
  #scroll = document.getElementById("scroll");
  #log = document.getElementById("log");
  #draft = document.getElementById("draft");
  #typing = document.getElementById("typing");
  #pill = document.getElementById("pill");
  #empty = document.getElementById("empty");
  #lines = new Map();
  #stuck = true;
  #ready = false;
  #spoke = false;
  #typingTimer = 0;
  #unread = 0;
  #title = document.title;

  // press(message, choice) gives "" or, in words, why the press did not work.
  constructor(user, press) {
    this.#user = user;
    this.#press = press;
    this.#scroll.addEventListener("scroll", () => {
      this.#stuck = this.#scroll.scrollHeight - this.#scroll.scrollTop - this.#scroll.clientHeight < near;
      if (this.#stuck) this.#pill.hidden = true;
    }, { passive: true });
    this.#pill.addEventListener("click", () => this.toEnd());
    new ResizeObserver(() => this.#settle()).observe(this.#scroll.firstElementChild);
    new ResizeObserver(() => this.#settle()).observe(this.#scroll);
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.#count(-this.#unread);
    });
  }

  // item shows a line of the feed.
  item(item) {
    if (item.kind === "edit") return this.#edit(item);
    if (item.kind === "press") return this.#mark(item);
    if (this.#lines.has(item.id)) this.#lines.get(item.id).remove();
    const line = this.#line(item);
    this.#log.insertBefore(line, this.#log.querySelector(".unsent"));
    if (item.kind === "user") this.#began();
    if (item.kind === "bot") {
      this.draft({ html: "" });
      this.#showTyping(false);
      if (this.#ready) this.#news();
    }
    this.#settle();
  }

  // ready says that all of the past was shown.
  ready() {
    this.#empty.hidden = this.#spoke;
    if (!this.#ready) this.toEnd();
    this.#ready = true;
    this.#log.setAttribute("aria-live", "polite");
  }

  draft({ html }) {
    this.#draft.hidden = html === "";
    if (html === "") return this.#draft.replaceChildren();
    this.#draft.innerHTML = html;
    dress(this.#draft);
    this.#showTyping(false);
    this.#settle();
  }

  typing() {
    if (this.#draft.hidden) this.#showTyping(true);
  }

  // unsent shows a message that the gateway has not confirmed.
  unsent({ id, text }) {
    const line = this.#line({ kind: "user", id: `m-${this.#user}-${id}`, text });
    line.classList.add("unsent");
    this.#log.append(line);
    this.#began();
  }

  // sent takes the mark off a message. The feed's own line replaces it, if the
  // gateway keeps one: of a person who is not let in yet it does not.
  sent(id) {
    const line = this.#lines.get(`m-${this.#user}-${id}`);
    line?.classList.remove("unsent");
    line?.querySelector(".note")?.remove();
  }

  waiting(id) {
    const line = this.#lines.get(`m-${this.#user}-${id}`);
    if (line && !line.querySelector(".note")) line.append(note("Not sent yet, trying again…"));
  }

  // refused says why a message will never be taken; again puts it back into the box.
  refused(id, words, again) {
    const line = this.#lines.get(`m-${this.#user}-${id}`);
    if (!line) return;
    line.querySelector(".note")?.remove();
    const hint = note(`${words} `);
    hint.classList.add("bad");
    const button = make("button", { type: "button", textContent: "Edit" });
    button.addEventListener("click", () => {
      line.remove();
      again();
    });
    hint.append(button);
    line.append(hint);
  }

  toEnd() {
    this.#stuck = true;
    this.#settle();
  }

  #line(item) {
    const line = make("li", { className: `line ${item.kind}` });
    line.append(said(item));
    if (item.choices?.length) line.append(this.#choices(item));
    if (item.at) line.append(stamp(item.at));
    this.#lines.set(item.id, line);
    return line;
  }

  #edit(item) {
    const line = this.#lines.get(item.id);
    if (!line) return;
    line.querySelector(".said").replaceWith(said(item));
    line.querySelector(".choices")?.remove();
    line.querySelector(".note")?.remove();
    if (item.choices?.length) line.querySelector(".said").after(this.#choices(item));
    this.#settle();
  }

  #choices(item) {
    const group = make("div", { className: "choices", role: "group", ariaLabel: "Answers" });
    for (const choice of item.choices) {
      const button = make("button", { type: "button", textContent: choice.label || choice.value });
      button.dataset.choice = key(choice);
      button.addEventListener("click", () => this.#pressed(group, button, item.id, choice));
      group.append(button);
    }
    return group;
  }

  // mark shows a press of another page, or of the past.
  #mark(item) {
    const buttons = [...(this.#lines.get(item.id)?.querySelectorAll(".choices button") ?? [])];
    const pressed = buttons.find((button) => button.dataset.choice === key(item.choices[0]));
    if (!pressed) return; // of an older form of the message, or of none
    for (const button of buttons) button.disabled = true;
    pressed.ariaPressed = "true";
  }

  async #pressed(group, button, message, choice) {
    const buttons = [...group.children];
    buttons.forEach((b) => (b.disabled = true));
    button.ariaPressed = "true";
    group.parentElement.querySelector(".note")?.remove();
    const words = await this.#press(message, choice);
    if (!words) return;
    buttons.forEach((b) => (b.disabled = false));
    button.ariaPressed = null;
    const hint = note(words);
    hint.classList.add("bad");
    group.after(hint);
  }

  // began takes the suggestions away: the person has spoken.
  #began() {
    this.#spoke = true;
    this.#empty.hidden = true;
  }

  #showTyping(on) {
    clearTimeout(this.#typingTimer);
    this.#typing.hidden = !on;
    if (on) this.#typingTimer = setTimeout(() => this.#showTyping(false), typingFor);
    this.#settle();
  }

  #news() {
    if (!this.#stuck) this.#pill.hidden = false;
    if (document.visibilityState !== "visible") this.#count(1);
  }

  #count(more) {
    this.#unread += more;
    document.title = this.#unread > 0 ? `(${this.#unread}) ${this.#title}` : this.#title;
  }

  // settle keeps the end in sight, for who was reading there.
  #settle() {
    if (this.#stuck) this.#scroll.scrollTop = this.#scroll.scrollHeight;
  }
}

const key = ({ question, field, value }) => JSON.stringify([question, field, value]);

function said(item) {
  const node = make("div", { className: item.html ? "said prose" : "said plain", dir: "auto" });
  if (!item.html) {
    node.textContent = item.text ?? "";
    return node;
  }
  node.innerHTML = item.html;
  dress(node);
  return node;
}

// dress gives code its bar and lets wide tables scroll by themselves.
function dress(node) {
  for (const table of node.querySelectorAll("table")) {
    const wide = make("div", { className: "wide", tabIndex: 0, role: "region", ariaLabel: "Table" });
    table.replaceWith(wide);
    wide.append(table);
  }
  for (const pre of node.querySelectorAll("pre")) {
    const block = make("div", { className: "block" });
    const bar = make("div", { className: "bar" });
    const language = pre.firstElementChild?.className.replace("language-", "") || "text";
    const copy = make("button", { type: "button", textContent: "Copy" });
    copy.addEventListener("click", async () => {
      copy.textContent = (await toClipboard(pre.textContent)) ? "Copied" : "Not copied";
      setTimeout(() => (copy.textContent = "Copy"), 1500);
    });
    bar.append(make("span", { textContent: language }), copy);
    pre.replaceWith(block);
    pre.tabIndex = 0;
    block.append(bar, pre);
  }
}

async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Plain http has no clipboard but this one.
    const box = make("textarea", { value: text, className: "unseen" });
    document.body.append(box);
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    return done;
  }
}

function stamp(at) {
  const when = new Date(at);
  const today = when.toDateString() === new Date().toDateString();
  return make("time", { dateTime: at, textContent: (today ? clock : day).format(when) });
}

const note = (words) => make("p", { className: "note", textContent: words });

function make(name, properties) {
  return Object.assign(document.createElement(name), properties);
}
