// A small bot as people write them with grammY. It tells on its output, a JSON
// value a line, what it receives and what its calls come to.
import { createServer } from "node:http";
import { Bot, GrammyError, InlineKeyboard, InputFile, InputMediaBuilder, webhookCallback } from "grammy";

const { API, TOKEN, MODE, SECRET } = process.env;
const tell = (what) => console.log(JSON.stringify(what));
const bot = new Bot(TOKEN, { client: { apiRoot: API } });

bot.api.config.use(async (prev, method, payload, signal) => {
	const answer = await prev(method, payload, signal);
	if (method !== "getUpdates") tell({ method, ...answer });
	else if (!answer.ok) tell({ method, ...answer });
	return answer;
});

bot.use(async (ctx, next) => {
	tell({ update: ctx.update });
	await next();
});

// What the platform refuses goes on as a value: the test looks at it.
const refused = async (call) => {
	try {
		await call;
		tell({ refused: null });
	} catch (e) {
		if (!(e instanceof GrammyError)) throw e;
		tell({ refused: e.description, code: e.error_code, parameters: e.parameters });
	}
};

bot.command("start", (ctx) => ctx.reply("Shall I?", {
	reply_parameters: { message_id: ctx.msg.message_id, quote: "start" },
	reply_markup: new InlineKeyboard().text("Yes", "y").text("No", "n"),
}));
bot.callbackQuery("y", async (ctx) => {
	await ctx.answerCallbackQuery({ text: "as you wish" });
	await ctx.editMessageText("It is done.", { entities: [{ type: "bold", offset: 6, length: 4 }] });
	await refused(ctx.editMessageText("It is done.", { entities: [{ type: "bold", offset: 6, length: 4 }] }));
	await refused(ctx.answerCallbackQuery());
});
bot.on(["message:photo", "message:document", "message:voice"], async (ctx) => {
	const file = await ctx.getFile();
	const res = await fetch(`${API}/file/bot${TOKEN}/${file.file_path}`);
	const data = Buffer.from(await res.arrayBuffer());
	await ctx.replyWithDocument(new InputFile(data, "back.bin"), { caption: `${data.length} bytes` });
});
bot.command("album", (ctx) => ctx.replyWithMediaGroup([
	InputMediaBuilder.document(new InputFile(Buffer.from("one"), "1.txt"), { caption: "first" }),
	InputMediaBuilder.document(new InputFile(Buffer.from("two"), "2.txt")),
]));
bot.command("draft", async (ctx) => {
	const id = ctx.update.update_id;
	for (const text of ["", "so", "so far"]) await ctx.api.sendMessageDraft(ctx.chat.id, id, text);
	await ctx.replyWithChatAction("typing");
	tell({ drafted: true });
});
bot.command("menu", async (ctx) => {
	await ctx.api.setMyCommands([{ command: "start", description: "begin" }]);
	tell({ menu: await ctx.api.getMyCommands() });
});
bot.command("bad", async (ctx) => {
	await refused(ctx.reply("x".repeat(4097)));
	await refused(ctx.reply("x", { entities: [{ type: "bold", offset: 0, length: 2 }] }));
	await refused(ctx.reply("x", { reply_parameters: { message_id: 999 } }));
	await refused(ctx.reply("x", { message_thread_id: 999 }));
	await refused(ctx.api.sendMessage(404, "x"));
	await refused(ctx.api.getFile("nonsense"));
});
bot.command("again", (ctx) => refused(ctx.reply("x")));
bot.command("topic", (ctx) => ctx.reply("in here"));
bot.on("edited_message", (ctx) => ctx.react("👀"));
bot.on("message_reaction", (ctx) => refused(ctx.api.sendMessage(ctx.chat.id, "liked: " + ctx.reactions().emojiAdded)));
bot.on("message:text", (ctx) => ctx.reply("you said " + ctx.msg.text));
bot.catch((e) => tell({ uncaught: String(e.error) }));

const allowed = ["message", "edited_message", "callback_query", "message_reaction", "my_chat_member", "stopped_message_generation"];
if (MODE === "webhook") {
	const server = createServer(webhookCallback(bot, "http", { secretToken: SECRET }));
	await bot.init();
	server.listen(0, "127.0.0.1", async () => {
		await bot.api.setWebhook(`http://127.0.0.1:${server.address().port}/`, { secret_token: SECRET, allowed_updates: allowed });
		tell({ info: await bot.api.getWebhookInfo() });
	});
} else {
	try {
		await bot.start({ allowed_updates: allowed, timeout: 20, onStart: (me) => tell({ me }) });
	} catch (e) {
		if (!(e instanceof GrammyError)) throw e;
		tell({ stopped: e.description, code: e.error_code });
		process.exit(3);
	}
}
