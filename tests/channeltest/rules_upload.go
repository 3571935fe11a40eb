package channeltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"dragoman/ports"
)

// Viewer is a platform that shows files of the bot; a Person may implement it.
type Viewer interface {
	// Files are those that the private chat shows, oldest first.
	Files() ([]ShownFile, error)
}

// ShownFile is a file of the bot as a person gets it.
type ShownFile struct {
	Name string
	Data []byte
	Text string // what stands beside it
}

func uploadRules() []Rule {
	return []Rule{
		{
			"upload-shows", "a file arrives as it is, once, with what is said of it, and is closed by whoever opened it",
			play(uploadShows),
		},
		{
			"upload-unreadable", "a file that cannot be read now posts nothing, and the core learns whether to try again",
			play(uploadUnreadable),
		},
	}
}

// source is a file to upload, which counts.
type source struct {
	io.Reader
	opened, closed int
}

func (f *source) Close() error {
	f.closed++
	return nil
}

// uploader is the channel's, with somebody who sees files.
func (s *scene) uploader() (ports.Uploader, Viewer, ports.Outgoing, error) {
	up, ok := s.ch.(ports.Uploader)
	if !ok {
		return nil, nil, ports.Outgoing{}, fmt.Errorf("%w: the channel posts no files", ErrNotApplicable)
	}
	who, m, err := s.meet("Ann")
	if err != nil {
		return nil, nil, ports.Outgoing{}, err
	}
	v, ok := who.(Viewer)
	if !ok {
		return nil, nil, ports.Outgoing{}, fmt.Errorf("%w: nobody can look at files", ErrNotApplicable)
	}
	out := s.out(m.In, "said of it")
	out.Content.File = &ports.File{Artifact: "a1", Name: "data.bin", MIME: "application/octet-stream"}
	return up, v, out, nil
}

func uploadShows(s *scene) error {
	up, who, out, err := s.uploader()
	if err != nil {
		return err
	}
	data := bytes.Repeat([]byte("\x00\xff a file\r\n"), 10_000)
	out.Content.File.Size = int64(len(data))
	file := &source{Reader: bytes.NewReader(data)}
	id, err := up.Upload(s.ctx, out, func(context.Context) (io.ReadCloser, error) {
		file.opened++
		return file, nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("Upload failed: %w", err)
	case id == "":
		return errors.New("Upload returned no id")
	case file.opened != 1 || file.closed != 1:
		return fmt.Errorf("the file was opened %d times and closed %d times", file.opened, file.closed)
	}
	got, err := who.Files()
	switch {
	case err != nil:
		return err
	case len(got) != 1:
		return fmt.Errorf("the chat shows %d files", len(got))
	case got[0].Name != "data.bin" || got[0].Text != "said of it":
		return fmt.Errorf("the file is called %q, beside it stands %q", got[0].Name, got[0].Text)
	case !bytes.Equal(got[0].Data, data):
		return fmt.Errorf("the file has %d bytes, and not the %d that it had", len(got[0].Data), len(data))
	}
	return nil
}

func uploadUnreadable(s *scene) error {
	up, who, out, err := s.uploader()
	if err != nil {
		return err
	}
	cause := &ports.Error{Kind: ports.KindUnavailable, Op: "read", Err: errors.New("the disk is busy")}
	out.Content.File.Size = 100_000
	file := &source{Reader: io.MultiReader(bytes.NewReader(make([]byte, 50_000)), failing{cause})}
	for what, open := range map[string]func(context.Context) (io.ReadCloser, error){
		"before its beginning": func(context.Context) (io.ReadCloser, error) { return nil, cause },
		"in its middle":        func(context.Context) (io.ReadCloser, error) { return file, nil },
	} {
		_, err := up.Upload(s.ctx, out, open)
		if err := classified(err, ports.KindUnavailable); err != nil {
			return fmt.Errorf("of a file that breaks off %s: %w", what, err)
		}
	}
	got, err := who.Files()
	if err == nil && len(got) > 0 {
		return fmt.Errorf("the chat shows %d files that could not be read", len(got))
	}
	return err
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }
