// A client of the gateway alone, on @discordjs/ws, in two shards. It says on stdout, in lines
// of JSON, what it sees. FAKE is the address that stands for https://discord.com.
import { createRequire } from 'node:module';

const require = createRequire(process.env.MODULES + '/');
const { WebSocketManager, WebSocketShardEvents: events } = require('@discordjs/ws');
const { REST } = require('@discordjs/rest');

const say = (what, data) => process.stdout.write(JSON.stringify({ what, ...data }) + '\n');
const rest = new REST({ version: '10', api: process.env.FAKE + '/api' }).setToken(process.env.TOKEN);
const manager = new WebSocketManager({
  token: process.env.TOKEN,
  rest,
  intents: 1 | (1 << 9) | (1 << 12) | (1 << 15),
  shardCount: 2,
  initialPresence: { since: null, activities: [], status: 'online', afk: false },
});
manager.on(events.Ready, (data, shard) => say('ready', { shard, of: data.shard, user: data.user.username, guilds: data.guilds.length }));
manager.on(events.Resumed, (shard) => say('resumed', { shard }));
manager.on(events.Closed, (code, shard) => say('closed', { shard, code }));
manager.on(events.HeartbeatComplete, (_, shard) => say('heartbeat', { shard }));
manager.on(events.Dispatch, (p, shard) => {
  if (p.t === 'MESSAGE_CREATE') say('message', { shard, text: p.d.content, seq: p.s });
  if (p.t === 'GUILD_CREATE') say('guild', { shard, name: p.d.name });
});
manager.on(events.Error, (e, shard) => say('error', { shard, error: String(e) }));
process.on('unhandledRejection', (e) => say('error', { error: String(e), stack: e?.stack }));

manager.connect().catch((e) => {
  say('login', { error: String(e) });
  process.exit(3);
});
