-- Times are milliseconds since 1970, 0 = never or unknown. Flags are 0 or 1.
-- conv columns hold ports.Conversation.String(). "owner" and "holder" name a node.

-- +goose Up

-- A life of a process. Every owner that is no row here is dead.
CREATE TABLE node (
    id      TEXT    NOT NULL PRIMARY KEY,
    started INTEGER NOT NULL
) STRICT;

-- The right to be the one receiver of a channel. The epoch outlives its holder.
CREATE TABLE lease (
    name   TEXT    NOT NULL PRIMARY KEY,
    holder TEXT,
    epoch  INTEGER NOT NULL
) STRICT;

CREATE TABLE cursor (
    channel TEXT NOT NULL PRIMARY KEY,
    cursor  TEXT NOT NULL
) STRICT;

-- ready: it has work. seq: that of its last message. told < news: the owner has
-- not been told of all that came in.
CREATE TABLE conv (
    id      TEXT    NOT NULL PRIMARY KEY,
    channel TEXT    NOT NULL,
    chat    TEXT    NOT NULL,
    thread  TEXT    NOT NULL,
    owner   TEXT,
    epoch   INTEGER NOT NULL DEFAULT 0,
    seq     INTEGER NOT NULL DEFAULT 0,
    ready   INTEGER NOT NULL DEFAULT 0,
    news    INTEGER NOT NULL DEFAULT 0,
    told    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX conv_free ON conv (id) WHERE ready = 1 AND owner IS NULL;
CREATE INDEX conv_owner ON conv (owner) WHERE owner IS NOT NULL;
CREATE INDEX conv_news ON conv (owner) WHERE told < news;

CREATE TABLE inbox (
    conv     TEXT    NOT NULL REFERENCES conv (id),
    seq      INTEGER NOT NULL,
    channel  TEXT    NOT NULL,
    event    TEXT    NOT NULL,
    route    TEXT    NOT NULL,
    person   TEXT    NOT NULL,
    turn     TEXT,
    received INTEGER NOT NULL,
    body     TEXT    NOT NULL,
    PRIMARY KEY (conv, seq)
) STRICT;
CREATE UNIQUE INDEX inbox_event ON inbox (channel, event);
CREATE INDEX inbox_waiting ON inbox (conv, seq) WHERE turn IS NULL;
CREATE INDEX inbox_turn ON inbox (turn, seq) WHERE turn IS NOT NULL;

-- seq: that of its first message. lane: that message came by the lane. steps: how many it has.
CREATE TABLE turn (
    id       TEXT    NOT NULL PRIMARY KEY,
    conv     TEXT    NOT NULL REFERENCES conv (id),
    seq      INTEGER NOT NULL,
    lane     INTEGER NOT NULL,
    person   TEXT    NOT NULL,
    state    TEXT    NOT NULL,
    outcome  TEXT    NOT NULL DEFAULT '',
    question TEXT    NOT NULL DEFAULT '',
    steps    INTEGER NOT NULL DEFAULT 0,
    resumes  INTEGER NOT NULL DEFAULT 0,
    started  INTEGER NOT NULL,
    finished INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX turn_unfinished ON turn (conv) WHERE state <> 'done';
CREATE INDEX turn_history ON turn (conv, seq) WHERE state = 'done' AND lane = 1;

CREATE TABLE step (
    turn TEXT    NOT NULL REFERENCES turn (id),
    idx  INTEGER NOT NULL,
    kind TEXT    NOT NULL,
    call INTEGER NOT NULL,
    body TEXT    NOT NULL,
    at   INTEGER NOT NULL,
    PRIMARY KEY (turn, idx)
) STRICT;

-- body is the whole question; the other columns are what it is found by.
CREATE TABLE question (
    id      TEXT    NOT NULL PRIMARY KEY,
    conv    TEXT    NOT NULL,
    turn    TEXT    NOT NULL,
    state   TEXT    NOT NULL,
    expires INTEGER NOT NULL,
    body    TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX question_open ON question (conv) WHERE state = 'open';
CREATE INDEX question_expires ON question (expires) WHERE state = 'open' AND expires > 0;

-- id is the order. posted: the platform's id of it. preview: made by Delivered.
CREATE TABLE outbox (
    id       INTEGER NOT NULL PRIMARY KEY,
    conv     TEXT    NOT NULL REFERENCES conv (id),
    delivery TEXT    NOT NULL,
    turn     TEXT    NOT NULL,
    preview  INTEGER NOT NULL DEFAULT 0,
    question TEXT    NOT NULL DEFAULT '',
    edits    TEXT    NOT NULL DEFAULT '',
    optional INTEGER NOT NULL DEFAULT 0,
    tries    INTEGER NOT NULL DEFAULT 0,
    body     TEXT    NOT NULL,
    state    TEXT    NOT NULL,
    posted   TEXT    NOT NULL DEFAULT '',
    failed   TEXT    NOT NULL DEFAULT '',
    at       INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX outbox_delivery ON outbox (conv, delivery);
CREATE INDEX outbox_pending ON outbox (conv, id) WHERE state = 'pending';
CREATE INDEX outbox_preview ON outbox (turn, id) WHERE preview = 1;

CREATE TABLE record (
    scope   TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    key     TEXT    NOT NULL,
    version INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (scope, kind, key)
) STRICT;
CREATE INDEX record_expires ON record (expires) WHERE expires > 0;

CREATE TABLE artifact (
    conv TEXT    NOT NULL,
    id   TEXT    NOT NULL,
    name TEXT    NOT NULL,
    mime TEXT    NOT NULL,
    size INTEGER NOT NULL,
    data BLOB    NOT NULL,
    at   INTEGER NOT NULL,
    PRIMARY KEY (conv, id)
) STRICT;

CREATE TABLE usage (
    id           INTEGER NOT NULL PRIMARY KEY,
    at           INTEGER NOT NULL,
    turn         TEXT    NOT NULL,
    step         INTEGER NOT NULL,
    person       TEXT    NOT NULL,
    model        TEXT    NOT NULL,
    input        INTEGER NOT NULL,
    cached_input INTEGER NOT NULL,
    output       INTEGER NOT NULL
) STRICT;
CREATE INDEX usage_at ON usage (at);

CREATE TABLE audit (
    id     INTEGER NOT NULL PRIMARY KEY,
    at     INTEGER NOT NULL,
    actor  TEXT    NOT NULL,
    what   TEXT    NOT NULL,
    ref    TEXT    NOT NULL,
    detail TEXT    NOT NULL
) STRICT;

CREATE TABLE feed (
    channel TEXT    NOT NULL,
    chat    TEXT    NOT NULL,
    seq     INTEGER NOT NULL,
    nonce   TEXT    NOT NULL,
    body    TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (channel, chat, seq)
) STRICT;
CREATE UNIQUE INDEX feed_nonce ON feed (channel, chat, nonce) WHERE nonce <> '';
