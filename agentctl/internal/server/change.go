package server

import (
	"errors"
	"path/filepath"

	"moorage.dev/agentctl/internal/files"
	"moorage.dev/agentctl/internal/link"
)

func stat(_ *Server, _ *link.Stream, r request) (any, error) {
	if err := absolute(r.Path); err != nil {
		return nil, err
	}
	return files.Look(filepath.Clean(r.Path), r.Follow)
}

func makeDir(_ *Server, _ *link.Stream, r request) (any, error) {
	if err := absolute(r.Path); err != nil {
		return nil, err
	}
	made, err := files.MakeDir(filepath.Clean(r.Path))
	return map[string]bool{"made": made}, err
}

func remove(_ *Server, _ *link.Stream, r request) (any, error) {
	if err := absolute(r.Path); err != nil {
		return nil, err
	}
	return nothing{}, files.Remove(filepath.Clean(r.Path))
}

func rename(_ *Server, _ *link.Stream, r request) (any, error) {
	if err := errors.Join(absolute(r.Path), absolute(r.To)); err != nil {
		return nil, err
	}
	return nothing{}, files.Rename(filepath.Clean(r.Path), filepath.Clean(r.To))
}

// watch tells each change as a message until the client gives the stream up. The first message, {}, says that
// whatever happens from now on is seen.
func watch(_ *Server, stream *link.Stream, r request) (any, error) {
	if err := absolute(r.Path); err != nil {
		return nil, err
	}
	watcher, err := files.NewWatcher(filepath.Clean(r.Path), r.Recursive)
	if err != nil {
		return nil, err
	}
	defer watcher.Close()
	if err := stream.Message(nothing{}); err != nil {
		return nil, err
	}
	go func() {
		<-stream.Context().Done()
		watcher.Close()
	}()
	err = watcher.Each(func(change files.Change) error { return stream.Message(change) })
	if stream.Context().Err() != nil {
		return nil, link.ErrClosed
	}
	return nil, err
}
