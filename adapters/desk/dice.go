package desk

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/server"
)

const (
	maxDice  = 100
	maxSides = 1000
)

func dice() server.ServerTool {
	return text{
		name: "roll_dice", title: "Dice",
		description: "Rolls dice and tells each of them and the sum.",
		argument:    "dice",
		about:       "How many dice of how many sides, as 2d6, d20 or 3d8+2.",
		run:         roll,
	}.tool()
}

func roll(wish string) (string, error) {
	parts := regexp.MustCompile(`^(\d{0,4})d(\d{1,5})(?:([+-])(\d{1,6}))?$`).
		FindStringSubmatch(strings.ToLower(strings.Join(strings.Fields(wish), "")))
	if parts == nil {
		return "", fmt.Errorf("%q is no roll of dice; write 2d6, d20 or 3d8+2", wish)
	}
	count := 1
	if parts[1] != "" {
		count, _ = strconv.Atoi(parts[1])
	}
	sides, _ := strconv.Atoi(parts[2])
	if count < 1 || count > maxDice || sides < 2 || sides > maxSides {
		return "", fmt.Errorf("at least 1 and at most %d dice, of 2 to %d sides each", maxDice, maxSides)
	}
	bonus, _ := strconv.Atoi(parts[3] + parts[4])
	sum := bonus
	shown := make([]string, count)
	for i := range shown {
		n := 1 + rand.IntN(sides)
		sum += n
		shown[i] = strconv.Itoa(n)
	}
	if bonus != 0 {
		shown = append(shown, fmt.Sprintf("(%+d)", bonus))
	}
	return fmt.Sprintf("%dd%d: %s = %d", count, sides, strings.Join(shown, " + "), sum), nil
}
