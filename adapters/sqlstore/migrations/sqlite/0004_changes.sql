-- People edit and delete what they wrote.

-- +goose Up

-- message: the platform's id of it, '' of a press. changed: seq of the last message
-- that changed what it says; gone: of the one that deleted it.
ALTER TABLE inbox ADD COLUMN message TEXT NOT NULL DEFAULT '';
ALTER TABLE inbox ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
UPDATE inbox SET message = COALESCE(json_extract(body, '$.id'), '') WHERE json_extract(body, '$.choice') IS NULL;
CREATE INDEX inbox_message ON inbox (channel, message, seq) WHERE message <> '';
CREATE INDEX inbox_gone ON inbox (conv, gone) WHERE gone > 0;

-- changed: seq of the last message that changed another one of the conversation.
ALTER TABLE conv ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
