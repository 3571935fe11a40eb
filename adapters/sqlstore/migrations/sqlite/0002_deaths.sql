-- Deaths of processes are counted by conversation, also before its turn has a row.

-- +goose Up

-- deaths: of processes while this had something to run, since its journal last
-- grew. alone: of them, those that nothing else can be blamed for. trial: it was
-- taken up again (1), or is suspected and on trial (2).
ALTER TABLE conv ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conv ADD COLUMN alone INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conv ADD COLUMN trial INTEGER NOT NULL DEFAULT 0;
CREATE INDEX conv_trial ON conv (id) WHERE trial > 0;

ALTER TABLE turn DROP COLUMN resumes;
