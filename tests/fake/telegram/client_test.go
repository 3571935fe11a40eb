package telegram_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	fake "dragoman/tests/fake/telegram"
)

// TestForeignClient has a client library that knows the real Telegram talk to
// the fake: what it cannot read or send the fake has wrong. It sends multipart,
// with an empty body where a call has no parameters.
func TestForeignClient(t *testing.T) {
	s := fake.New(fake.Options{})
	t.Cleanup(s.Close)
	client := &http.Client{}
	defer client.CloseIdleConnections()
	updates := make(chan *models.Update, 10)
	b, err := bot.New(s.Token(), bot.WithServerURL(s.URL()), bot.WithHTTPClient(5*time.Second, client), bot.WithCheckInitTimeout(time.Minute),
		bot.WithDefaultHandler(func(_ context.Context, _ *bot.Bot, u *models.Update) { updates <- u }))
	if err != nil {
		t.Fatal("getMe: ", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { b.Start(ctx) })
	defer group.Wait()
	defer cancel()

	ann := s.User(7, "Ann")
	ann.Say("/start now")
	if u := next(t, updates); u.Message == nil || u.Message.Text != "/start now" || u.Message.Chat.Type != models.ChatTypePrivate ||
		len(u.Message.Entities) != 1 || u.Message.Entities[0].Type != models.MessageEntityTypeBotCommand {
		t.Errorf("a message came as %+v", u.Message)
	}
	sent, err := b.SendMessage(ctx, &bot.SendMessageParams{
		ChatID: 7, Text: "May I?", ReplyParameters: &models.ReplyParameters{MessageID: 1},
		ReplyMarkup: models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{{{Text: "Yes", CallbackData: "y"}}}},
	})
	if err != nil || sent.ID != 2 || sent.ReplyToMessage == nil {
		t.Fatalf("sendMessage: %+v, %v", sent, err)
	}
	if err := ann.Press(sent.ID, "Yes"); err != nil {
		t.Fatal(err)
	}
	u := next(t, updates)
	if u.CallbackQuery == nil || u.CallbackQuery.Data != "y" || u.CallbackQuery.Message.Message == nil {
		t.Fatalf("a press came as %+v", u.CallbackQuery)
	}
	if ok, err := b.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{CallbackQueryID: u.CallbackQuery.ID}); !ok || err != nil {
		t.Errorf("answerCallbackQuery: %v, %v", ok, err)
	}
	edit := &bot.EditMessageTextParams{ChatID: 7, MessageID: sent.ID, Text: "Thanks"}
	if m, err := b.EditMessageText(ctx, edit); err != nil || m.Text != "Thanks" {
		t.Errorf("editMessageText: %+v, %v", m, err)
	}
	if _, err := b.EditMessageText(ctx, edit); !errors.Is(err, bot.ErrorBadRequest) {
		t.Errorf("the same again: %v", err)
	}
	s.Fail("sendMessage", 1, fake.TooManyRequests(9))
	var limited *bot.TooManyRequestsError
	if _, err := b.SendMessage(ctx, &bot.SendMessageParams{ChatID: 7, Text: "x"}); !errors.As(err, &limited) || limited.RetryAfter != 9 {
		t.Errorf("429 came as %v", err)
	}
	if ok, err := b.SendChatAction(ctx, &bot.SendChatActionParams{ChatID: 7, Action: models.ChatActionTyping}); !ok || err != nil {
		t.Errorf("sendChatAction: %v, %v", ok, err)
	}
}

func next(t *testing.T, updates <-chan *models.Update) *models.Update {
	t.Helper()
	select {
	case u := <-updates:
		return u
	case <-time.After(time.Minute):
		t.Fatal("no update came")
		return nil
	}
}
