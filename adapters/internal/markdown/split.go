package markdown

// Split cuts blocks into pieces for which fits holds: between blocks where that
// is enough, else between the items of a list or the rows of a table, else
// between lines, words, characters as people see them. A heading stays with what
// it heads, a fence that is cut is a fence with its language on both sides, a
// table repeats its header, an item keeps its number. A block that fits a piece
// of its own is not cut to fill up the one before. fits must hold for less of a
// thing if it holds for more. What cannot be cut so that it fits, as a rule,
// makes a piece that does not.
func Split(blocks []Block, fits func([]Block) bool) [][]Block {
	var pieces [][]Block
	for len(blocks) > 0 {
		head, tail := take(blocks, fits, fits)
		if len(head) == 0 {
			head, tail = blocks[:1], blocks[1:]
		}
		pieces = append(pieces, head)
		blocks = tail
	}
	return pieces
}

// take is the longest good beginning of blocks that fits here, and the rest.
// alone tells what would fit in a piece of its own.
func take(blocks []Block, here, alone func([]Block) bool) (head, tail []Block) {
	n := most(len(blocks), func(n int) bool { return here(blocks[:n]) })
	if n == len(blocks) {
		return blocks, nil
	}
	keep := n
	for keep > 0 && isHeading(blocks[keep-1]) {
		keep--
	}
	if keep == 0 || !alone(blocks[n:n+1]) {
		h, t, ok := cut(blocks[n],
			func(b Block) bool { return here(append(blocks[:n:n], b)) },
			func(b Block) bool { return alone([]Block{b}) })
		if ok {
			return append(blocks[:n:n], h), append([]Block{t}, blocks[n+1:]...)
		}
	}
	if keep == 0 {
		keep = n
	}
	return blocks[:keep], blocks[keep:]
}

func isHeading(b Block) bool {
	_, ok := b.(Heading)
	return ok
}

// cut divides a block so that its head fits here; ok is false if nothing of it does.
func cut(b Block, here, alone func(Block) bool) (head, tail Block, ok bool) {
	switch b := b.(type) {
	case Paragraph:
		h, t, ok := cutSpans(b.Text, func(s []Span) bool { return here(Paragraph{s}) })
		return Paragraph{h}, Paragraph{t}, ok
	case Heading:
		h, t, ok := cutSpans(b.Text, func(s []Span) bool { return here(Heading{b.Level, s}) })
		return Heading{b.Level, h}, Heading{b.Level, t}, ok
	case Code:
		h, t, ok := cutCode(b.Text, func(s string) bool { return here(Code{b.Language, s, b.Math}) })
		return Code{b.Language, h, b.Math}, Code{b.Language, t, b.Math}, ok
	case Quote:
		h, t := take(b.Blocks,
			func(bs []Block) bool { return here(Quote{bs}) },
			func(bs []Block) bool { return alone(Quote{bs}) })
		return Quote{h}, Quote{t}, len(h) > 0
	case List:
		return cutList(b, here, alone)
	case Table:
		with := func(rows [][]Cell) Table { return Table{b.Align, b.Head, rows} }
		n := most(len(b.Rows), func(n int) bool { return here(with(b.Rows[:n])) })
		return with(b.Rows[:n]), with(b.Rows[n:]), n > 0
	}
	return nil, nil, false
}

func cutList(l List, here, alone func(Block) bool) (head, tail Block, ok bool) {
	with := func(items ...Item) List { return List{l.Ordered, l.Loose, items} }
	n := most(len(l.Items), func(n int) bool { return here(with(l.Items[:n]...)) })
	if n == len(l.Items) {
		return nil, nil, false
	}
	item := l.Items[n]
	if n == 0 || !alone(with(item)) {
		part := func(bs []Block) Item {
			return Item{Number: item.Number, Task: item.Task, Continued: item.Continued, Blocks: bs}
		}
		first, rest := take(item.Blocks,
			func(bs []Block) bool { return here(with(append(l.Items[:n:n], part(bs))...)) },
			func(bs []Block) bool { return alone(with(part(bs))) })
		if len(first) > 0 {
			next := part(rest)
			next.Continued = true
			return with(append(l.Items[:n:n], part(first))...), with(append([]Item{next}, l.Items[n+1:]...)...), true
		}
	}
	return with(l.Items[:n]...), with(l.Items[n:]...), n > 0
}

// most is the largest k up to n for which ok holds, which it must for all
// smaller ones but 0. It looks at values near k only.
func most(n int, ok func(int) bool) int {
	low, high := 0, 1
	for high <= n && ok(high) {
		low, high = high, min(2*high, max(n, high+1))
	}
	high = min(high, n+1)
	for low+1 < high {
		if mid := (low + high) / 2; ok(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
