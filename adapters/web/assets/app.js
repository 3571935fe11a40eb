// The chat page: what is shown (view.js), what comes in (stream.js), what goes
// out (outbox.js), and here the box that people write in.
import { newID, Outbox, pause, post } from "./outbox.js";
import { connect } from "./stream.js";
import { View } from "./view.js";

const pressTries = 4;
const user = document.body.dataset.user;
const form = document.getElementById("composer");
const box = document.getElementById("text");
const send = document.getElementById("send");
const state = document.getElementById("state");
const touch = matchMedia("(pointer: coarse)").matches;

const view = new View(user, press);
const outbox = new Outbox(user, {
  sent: (id) => view.sent(id),
  waiting: (id) => view.waiting(id),
  refused: (id, text, words) => view.refused(id, words, () => write(text)),
});

async function press(message, { question, field, value }) {
  const body = { id: newID(), message, question, field, value };
  for (let tries = 0; tries < pressTries; tries++) {
    const result = await post("/api/press", body);
    if (result.ok) return "";
    if (result.refused) return result.refused;
    await pause(tries);
  }
  return "That did not get through. Please press again.";
}

function submit(text) {
  if (text.trim() === "") return;
  view.unsent(outbox.add(text));
  view.toEnd();
}

function write(text) {
  box.value = text;
  fit();
  box.focus();
}

function fit() {
  send.disabled = box.value.trim() === "";
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight + box.offsetHeight - box.clientHeight}px`;
}

box.addEventListener("input", fit);
box.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || touch) return;
  event.preventDefault();
  form.requestSubmit();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = box.value;
  write("");
  submit(text);
});
for (const button of document.querySelectorAll(".prompts button")) {
  button.addEventListener("click", () => submit(button.textContent));
}

for (const message of outbox.unsent) view.unsent(message);
outbox.flush();
connect({
  item: (item) => view.item(item),
  ready: () => view.ready(),
  draft: (draft) => view.draft(draft),
  typing: () => view.typing(),
  state: (words) => {
    state.textContent = words;
    state.hidden = words === "";
    if (words === "") outbox.flush();
  },
});
fit();
if (!touch) box.focus(); // on touch it would open the keyboard
