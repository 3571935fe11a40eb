-- People have what they edited done again.

-- +goose Up

-- undoes: seq of the turn that is undone from this message on, with all between
-- them; 0 = none is.
ALTER TABLE inbox ADD COLUMN undoes INTEGER NOT NULL DEFAULT 0;
CREATE INDEX inbox_undoes ON inbox (conv, seq) WHERE undoes > 0;
