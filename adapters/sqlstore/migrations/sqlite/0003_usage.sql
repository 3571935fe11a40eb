-- Usage says whose it is and what it cost. Rows of before have no agent and no price.

-- +goose Up

-- cost: billionths of a US dollar. priced: the price was known. estimated: the
-- provider did not say how many tokens there were.
ALTER TABLE usage ADD COLUMN channel TEXT NOT NULL DEFAULT '';
ALTER TABLE usage ADD COLUMN chat TEXT NOT NULL DEFAULT '';
ALTER TABLE usage ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE usage ADD COLUMN cost INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN priced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN cache_write INTEGER NOT NULL DEFAULT 0;

UPDATE usage SET
    channel = COALESCE((SELECT c.channel FROM turn t JOIN conv c ON c.id = t.conv WHERE t.id = usage.turn), ''),
    chat = COALESCE((SELECT c.chat FROM turn t JOIN conv c ON c.id = t.conv WHERE t.id = usage.turn), '');

-- One person's day, and one chat's, are read before their first request of the
-- day; an agent's and everybody's are most of what usage_at finds anyway.
CREATE INDEX usage_person ON usage (person, at);
CREATE INDEX usage_chat ON usage (channel, chat, at);
