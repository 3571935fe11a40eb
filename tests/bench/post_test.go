package main

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
)

// sendMessage posts what a bot of the test's says.
func sendMessage(t *testing.T, r *rig, chat int64, text string) {
	t.Helper()
	res, err := http.PostForm(r.platform.URL()+"/bot"+r.platform.Token()+"/sendMessage", url.Values{"chat_id": {fmt.Sprint(chat)}, "text": {text}})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
}
