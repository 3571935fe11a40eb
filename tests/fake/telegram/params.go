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
	"strings"
)

// params of a call. Objects and arrays are JSON text, as in a form.
type params struct {
	form    map[string]string
	uploads map[string]File // by the field's name
}

// errTooLarge says that a request is beyond what Telegram reads.
var errTooLarge = errors.New("Request Entity Too Large")

// parseParams reads the query string and a body that is JSON, urlencoded or
// multipart. A multipart header with an empty body is a call without
// parameters: go-telegram/bot sends that.
func parseParams(w http.ResponseWriter, r *http.Request) (params, error) {
	p := params{map[string]string{}, map[string]File{}}
	p.add(r.URL.Query())
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return p, errTooLarge
	case err != nil:
		return p, errors.New("cannot read the request")
	case len(bytes.TrimSpace(body)) == 0:
		return p, nil
	}
	kind, arg, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return p, errors.New("cannot parse the Content-Type")
	}
	switch kind {
	case "application/json":
		return p, p.addJSON(body)
	case "application/x-www-form-urlencoded":
		v, err := url.ParseQuery(string(body))
		p.add(v)
		return p, err
	case "multipart/form-data":
		return p, p.addMultipart(multipart.NewReader(bytes.NewReader(body), arg["boundary"]))
	}
	return p, errors.New("unsupported Content-Type")
}

func (p params) add(v url.Values) {
	for k := range v {
		p.form[k] = v.Get(k)
	}
}

// addMultipart reads a form; what has a file name is an upload.
func (p params) addMultipart(r *multipart.Reader) error {
	for {
		part, err := r.NextPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return errors.New("cannot parse the multipart form")
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return errors.New("cannot parse the multipart form")
		}
		if name := part.FileName(); name != "" {
			p.uploads[part.FormName()] = File{Name: name, MIME: part.Header.Get("Content-Type"), Data: data}
			continue
		}
		p.form[part.FormName()] = string(data)
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
			p.form[k] = s
		default:
			p.form[k] = string(raw)
		}
	}
	return nil
}

// unknown is a parameter that is none of known, or "". An upload may have
// any name that a parameter calls it by.
func (p params) unknown(known []string) string {
	for k := range p.form {
		if !slices.Contains(known, k) {
			return k
		}
	}
	for k := range p.uploads {
		if !slices.Contains(known, k) && !p.attached(k) {
			return k
		}
	}
	return ""
}

// attached says whether a parameter names an upload.
func (p params) attached(upload string) bool {
	for _, v := range p.form {
		if strings.HasSuffix(v, "attach://"+upload) || strings.Contains(v, `"attach://`+upload+`"`) {
			return true
		}
	}
	return false
}

// strict reads JSON; a field that nobody knows is an error.
func strict(text string, v any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one value")
	}
	return nil
}

// has says whether a parameter was given.
func (p params) has(name string) bool {
	_, form := p.form[name]
	_, upload := p.uploads[name]
	return form || upload
}

// int is a whole number; 0 if it is absent or none.
func (p params) int(name string) int64 {
	n, err := strconv.ParseInt(p.form[name], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
