package sqlstore

import (
	"context"

	"dragoman/ports"
)

// takeOver begins a new life: the lock on the folder proves that whoever is
// still written down as an owner is dead.
func (s *Store) takeOver(ctx context.Context, t *session) error {
	blamed, err := blame(ctx, t)
	if err != nil {
		return err
	}
	freed, err := t.exec(ctx, `UPDATE conv SET owner = NULL, epoch = epoch + 1 WHERE owner IS NOT NULL`)
	if err != nil {
		return err
	}
	if freed > 0 {
		s.log.Info("store_taken_over", "conversations", freed, "running", blamed)
	}
	for _, q := range []string{
		`UPDATE lease SET holder = NULL, epoch = epoch + 1 WHERE holder IS NOT NULL`,
		`DELETE FROM node`,
	} {
		if _, err := t.exec(ctx, q); err != nil {
			return err
		}
	}
	_, err = t.exec(ctx, `INSERT INTO node (id, started) VALUES ($1, $2)`, s.node, s.now())
	return err
}

// What Trial notes, and blame looks at.
const (
	takenUp = 1
	onTrial = 2
)

// blame counts a death for each conversation that the dead may have died of: those
// that had something to run and had not seen a death, or had been taken up again
// since, on trial or not. One that is blamed was alone if it alone was on trial, or
// nobody was and no other had anything to do at all: to be the first that was taken
// up is no proof. It counts them.
func blame(ctx context.Context, t *session) (n int64, err error) {
	var tried, owned int
	if _, err := t.get(ctx, `SELECT (SELECT COUNT(*) FROM conv WHERE owner IS NOT NULL AND trial = $1 AND `+mayRun("conv.id")+`),
		(SELECT COUNT(*) FROM conv WHERE owner IS NOT NULL)`, []any{onTrial}, &tried, &owned); err != nil {
		return 0, err
	}
	alone := -1 // the trial of what was alone
	switch {
	case tried == 1:
		alone = onTrial
	case tried == 0 && owned == 1:
		alone = takenUp
	}
	n, err = t.exec(ctx, `UPDATE conv SET deaths = deaths + 1,
			alone = alone + CASE WHEN trial = $1 OR ($1 = $2 AND deaths = 0) THEN 1 ELSE 0 END
		WHERE owner IS NOT NULL AND (deaths = 0 OR trial > 0) AND `+mayRun("conv.id"), alone, takenUp)
	if err != nil {
		return 0, err
	}
	_, err = t.exec(ctx, `UPDATE conv SET trial = 0 WHERE trial > 0`)
	return n, err
}

// Trial notes that the conversation's work is taken up again. See ports.Turns.
func (s *Store) Trial(ctx context.Context, l ports.Lease, alone bool) error {
	note := takenUp
	if alone {
		note = onTrial
	}
	return s.update(ctx, "store trial", func(ctx context.Context, t *session) error {
		if _, err := s.fence(ctx, t, l); err != nil {
			return err
		}
		_, err := t.exec(ctx, `UPDATE conv SET trial = $2 WHERE id = $1`, l.In.String(), note)
		return err
	})
}

// acquit forgets the deaths: the journal grew, so the work is not what kills.
func acquit(ctx context.Context, t *session, conv string) error {
	_, err := t.exec(ctx, `UPDATE conv SET deaths = 0, alone = 0, trial = 0 WHERE id = $1`, conv)
	return err
}

// giveBack ends this life in order: nothing that was left running counts as a crash.
func (s *Store) giveBack(ctx context.Context, t *session) error {
	for _, q := range []string{
		`UPDATE conv SET owner = NULL, trial = 0 WHERE owner = $1`,
		`UPDATE lease SET holder = NULL WHERE holder = $1`,
		`DELETE FROM node WHERE id = $1`,
	} {
		if _, err := t.exec(ctx, q, s.node); err != nil {
			return err
		}
	}
	return nil
}
