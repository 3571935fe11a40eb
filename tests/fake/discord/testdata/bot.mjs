// A small bot on discord.js. It says on stdout, in lines of JSON, what it sees, and does what
// it is told in messages. FAKE is the address that stands for https://discord.com.
import { createRequire } from 'node:module';

const require = createRequire(process.env.MODULES + '/');
const d = require('discord.js');

const say = (what, data) => process.stdout.write(JSON.stringify({ what, ...data }) + '\n');
const client = new d.Client({
  intents: [
    d.GatewayIntentBits.Guilds, d.GatewayIntentBits.GuildMessages, d.GatewayIntentBits.DirectMessages,
    d.GatewayIntentBits.MessageContent, d.GatewayIntentBits.GuildMessageReactions,
  ],
  partials: [d.Partials.Channel, d.Partials.Message, d.Partials.Reaction],
  allowedMentions: { parse: [] },
  rest: { api: process.env.FAKE + '/api' },
});

const row = () => new d.ActionRowBuilder().addComponents(
  new d.ButtonBuilder().setCustomId('yes').setLabel('Yes').setStyle(d.ButtonStyle.Success),
  new d.ButtonBuilder().setCustomId('no').setLabel('No').setStyle(d.ButtonStyle.Secondary),
  new d.ButtonBuilder().setURL('https://example.org/').setLabel('Site').setStyle(d.ButtonStyle.Link),
);

const refused = async (name, promise) => {
  try {
    await promise;
    say('refused', { name, code: 'not at all' });
  } catch (e) {
    say('refused', { name, code: e.code, status: e.status, message: e.message });
  }
};

const orders = {
  answer: (m) => m.reply({ content: 'hello <@' + m.author.id + '>', nonce: '7', enforceNonce: true }),
  buttons: (m) => m.channel.send({ content: 'May I?', components: [row()] }),
  embed: (m) => m.channel.send({ embeds: [new d.EmbedBuilder().setTitle('Title').setDescription('Text')] }),
  react: (m) => m.react('👀'),
  typing: (m) => m.channel.sendTyping(),
  edit: async (m) => (await m.channel.send('first')).edit('second'),
  remove: async (m) => (await m.channel.send('gone')).delete(),
  file: (m) => m.channel.send({ files: [{ attachment: Buffer.from('a,b\n'), name: 'table.csv' }] }),
  thread: async (m) => (await m.startThread({ name: 'Talk', autoArchiveDuration: 60 })).send('in here'),
  read: async (m) => say('read', { text: await (await fetch(m.attachments.first().url)).text(), size: m.attachments.first().size, type: m.attachments.first().contentType }),
  quoted: async (m) => say('quoted', { text: (await m.fetchReference()).content }),
  history: async (m) => say('history', { texts: [...(await m.channel.messages.fetch({ limit: 3, before: m.id, cache: false })).values()].map((x) => x.content) }),
  dm: async (m) => (await m.author.createDM()).send('in private'),
  long: (m) => refused('long', m.channel.send('x'.repeat(2001))),
  empty: (m) => refused('empty', m.channel.send({ content: '', embeds: [] })),
  unknown: (m) => refused('unknown', client.channels.fetch('123456789012345678')),
  foreign: (m) => refused('foreign', m.edit('mine now')),
};

client.on('clientReady', async () => {
  await client.application.commands.set([
    new d.SlashCommandBuilder().setName('ask').setDescription('Asks the bot')
      .addStringOption((o) => o.setName('text').setDescription('What').setRequired(true))
      .addBooleanOption((o) => o.setName('private').setDescription('For you alone')),
    new d.ContextMenuCommandBuilder().setName('Ask about this').setType(d.ApplicationCommandType.Message),
  ]);
  say('ready', { user: client.user.username, application: client.application.id, guilds: [...client.guilds.cache.values()].map((g) => g.name) });
});

client.on('messageCreate', async (m) => {
  if (m.author.bot) return;
  say('message', {
    text: m.content, author: m.author.username, guild: m.guild?.name ?? '', type: m.type, thread: m.channel.isThread(),
    mentioned: m.mentions.has(client.user), reply: m.reference?.messageId ?? '', files: m.attachments.size,
  });
  const order = orders[m.content.split(' ').pop()];
  try {
    if (order) await order(m);
  } catch (e) {
    say('failed', { order: m.content, error: String(e), raw: e.rawError });
  }
});
client.on('messageUpdate', (_, m) => m.author?.bot || say('edited', { text: m.content, edited: m.editedTimestamp !== null, embeds: m.embeds.length }));
client.on('messageDelete', (m) => say('deleted', { id: m.id }));
client.on('messageDeleteBulk', (list) => say('deletedMany', { ids: [...list.keys()] }));
client.on('messageReactionAdd', (r, u) => u.bot || say('reaction', { emoji: r.emoji.name, user: u.id }));
client.on('threadCreate', (t) => say('thread', { name: t.name, parent: t.parent?.name }));
client.on('guildCreate', (g) => say('guild', { name: g.name }));
client.on('interactionCreate', async (i) => {
  say('interaction', { command: i.commandName ?? '', button: i.customId ?? '', user: i.user.username, text: i.options?.getString('text') ?? '', dm: !i.inGuild() });
  try {
    if (i.isChatInputCommand()) {
      const flags = i.options.getBoolean('private') ? d.MessageFlags.Ephemeral : undefined;
      await i.deferReply({ flags });
      await i.editReply('about ' + i.options.getString('text'));
      await i.followUp({ content: 'and more', flags });
      await refused('twice', i.reply('x'));
      await refused('again', client.rest.post(d.Routes.interactionCallback(i.id, i.token), { body: { type: 5 }, auth: false }));
      return;
    }
    if (i.customId === 'yes') await i.update({ content: 'Thanks', components: [] });
    else {
      await i.deferUpdate();
      await i.editReply({ content: 'Then not', components: [] });
      await i.followUp({ content: 'For you', flags: d.MessageFlags.Ephemeral });
    }
  } catch (e) {
    say('failed', { order: 'interaction', error: String(e), raw: e.rawError });
  }
});
client.on('shardDisconnect', (e) => say('disconnected', { code: e.code }));
client.on('shardReconnecting', () => say('reconnecting', {}));
client.on('shardResume', (_, replayed) => say('resumed', { replayed }));
client.on('shardReady', () => say('shardReady', {}));
client.on('error', (e) => say('error', { error: String(e) }));
client.on('warn', (text) => say('warn', { text }));
process.on('unhandledRejection', (e) => say('error', { error: String(e), stack: e?.stack }));

client.login(process.env.TOKEN).catch((e) => {
  say('login', { error: String(e), code: e.code });
  process.exit(3);
});
