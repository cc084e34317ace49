package process

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// record is what must outlive agentctl itself: who was started last, how it ended, who may command it.
type record struct {
	StartID   string  `json:"start_id"`
	State     string  `json:"state"`
	Pid       int     `json:"pid"`
	StartedAt float64 `json:"started_at"`
	Exit      *Exit   `json:"exit"`
	Fence     int64   `json:"fence"`
}

func loadRecord(path string) (record, error) {
	r := record{State: StateNone}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

func (r record) store(path string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return WriteAtomic(path, text, 0o600)
}

// WriteAtomic replaces path as a whole: a reader sees the old bytes or the new ones, also after a crash.
func WriteAtomic(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
