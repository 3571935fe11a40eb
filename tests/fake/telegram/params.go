package telegram

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// params of a call. Objects and arrays are JSON text, as in a form.
type params map[string]string

// parseParams reads the query string and a body that is JSON, urlencoded or
// multipart. A multipart header with an empty body is a call without
// parameters: go-telegram/bot sends that.
func parseParams(w http.ResponseWriter, r *http.Request) (params, error) {
	p := params{}
	p.add(r.URL.Query())
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	if err != nil {
		return nil, errors.New("cannot read the request")
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return p, nil
	}
	kind, arg, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return nil, errors.New("cannot parse the Content-Type")
	}
	switch kind {
	case "application/json":
		return p, p.addJSON(body)
	case "application/x-www-form-urlencoded":
		v, err := url.ParseQuery(string(body))
		p.add(v)
		return p, err
	case "multipart/form-data":
		form, err := multipart.NewReader(bytes.NewReader(body), arg["boundary"]).ReadForm(64 << 20)
		if err != nil {
			return nil, errors.New("cannot parse the multipart form")
		}
		defer func() { _ = form.RemoveAll() }()
		p.add(form.Value)
		return p, nil
	}
	return nil, errors.New("unsupported Content-Type")
}

func (p params) add(v url.Values) {
	for k := range v {
		p[k] = v.Get(k)
	}
}

func (p params) addJSON(body []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return errors.New("object expected as JSON input")
	}
	for k, raw := range fields {
		var s string
		switch {
		case bytes.Equal(raw, []byte("null")):
		case json.Unmarshal(raw, &s) == nil:
			p[k] = s
		default:
			p[k] = string(raw)
		}
	}
	return nil
}

// unknown is a parameter that is none of known, or "".
func (p params) unknown(known []string) string {
	for k := range p {
		if !slices.Contains(known, k) {
			return k
		}
	}
	return ""
}

// has says whether a parameter was given.
func (p params) has(name string) bool {
	_, ok := p[name]
	return ok
}

// int is a whole number; 0 if it is absent or none.
func (p params) int(name string) int64 {
	n, err := strconv.ParseInt(p[name], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
