-- What people delete takes its files along.

-- +goose Up

-- message: seq of the message that the artifact came with; 0 = of none.
ALTER TABLE artifact ADD COLUMN message INTEGER NOT NULL DEFAULT 0;
CREATE INDEX artifact_message ON artifact (conv, message) WHERE message > 0;
