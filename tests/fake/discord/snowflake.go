package discord

import (
	"strconv"
	"time"
)

// epoch is the first second of 2015, which Discord counts from.
const epoch = 1420070400000

// snowflake is an id: milliseconds since the epoch above 22 bits that tell ids
// of one millisecond apart (https://docs.discord.com/developers/reference#snowflakes).
type snowflake uint64

// newID is greater than every id before. s.mu is held.
func (s *Server) newID() string {
	id := snowflake(s.now().UnixMilli()-epoch) << 22
	s.last = max(id, s.last+1)
	return s.last.String()
}

func (id snowflake) String() string { return strconv.FormatUint(uint64(id), 10) }

func (id snowflake) time() time.Time { return time.UnixMilli(int64(id>>22) + epoch) }

// parseID is false for what is no id.
func parseID(text string) (snowflake, bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	return snowflake(n), err == nil && n > 0 && len(text) <= 20
}

// shardOf is the shard that hears of a guild.
func shardOf(guildID string, shards int) int {
	id, _ := parseID(guildID)
	return int(uint64(id>>22) % uint64(max(1, shards)))
}
