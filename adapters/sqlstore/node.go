package sqlstore

import "context"

// takeOver begins a new life: the lock on the folder proves that whoever is
// still written down as an owner is dead.
func (s *Store) takeOver(ctx context.Context, t *session) error {
	lost, err := t.exec(ctx, `UPDATE turn SET resumes = resumes + 1
		WHERE state = 'run' AND conv IN (SELECT id FROM conv WHERE owner IS NOT NULL)`)
	if err != nil {
		return err
	}
	freed, err := t.exec(ctx, `UPDATE conv SET owner = NULL, epoch = epoch + 1 WHERE owner IS NOT NULL`)
	if err != nil {
		return err
	}
	if freed > 0 {
		s.log.Info("store_taken_over", "conversations", freed, "turns", lost)
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

// giveBack ends this life in order: nothing that was left running counts as a crash.
func (s *Store) giveBack(ctx context.Context, t *session) error {
	for _, q := range []string{
		`UPDATE conv SET owner = NULL WHERE owner = $1`,
		`UPDATE lease SET holder = NULL WHERE holder = $1`,
		`DELETE FROM node WHERE id = $1`,
	} {
		if _, err := t.exec(ctx, q, s.node); err != nil {
			return err
		}
	}
	return nil
}
