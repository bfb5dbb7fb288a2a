package qemu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	tempPrefix = "holdfast-run-"
	ownerFile  = "owner" // locked by the program that made the folder, for as long as it lives
	// maxTempDir leaves room in a socket's path (maxSocketPath) for a slash and a name of 40 bytes.
	maxTempDir = maxSocketPath - 1 - 40
)

// TempDir makes a private folder with a short path, for one program's sockets and files. The
// returned function removes it. A program that is killed cannot do so: every TempDir therefore
// removes the folders of dead programs first.
//
// A folder's owner holds a lock on a file in it, which the kernel drops with the process. So a dead
// owner is never mistaken for another process that got its number, nor a living one for dead.
func TempDir() (dir string, remove func(), err error) {
	base := os.TempDir()
	if len(base)+1+len(tempPrefix)+len("4294967295") > maxTempDir {
		base = "/tmp" // somebody's TMPDIR is too deep for sockets
	}
	sweep(base)
	dir, owner, err := claim(base)
	if err != nil {
		return "", nil, fmt.Errorf("qemu: temporary folder: %w", err)
	}
	return dir, func() {
		os.RemoveAll(dir) // before the lock goes: another program's sweep then finds nothing
		owner.Close()
	}, nil
}

// claim makes a folder in base with its owner file locked. It gets the name by which sweep knows it
// when that is done, and not before.
func claim(base string) (dir string, owner *os.File, err error) {
	raw, err := os.MkdirTemp(base, "."+tempPrefix)
	if err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(raw)
		}
	}()
	owner, err = os.OpenFile(filepath.Join(raw, ownerFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", nil, err
	}
	if err = lock(owner); err == nil {
		_, err = fmt.Fprintln(owner, os.Getpid()) // for people
	}
	if err == nil {
		dir = filepath.Join(base, strings.TrimPrefix(filepath.Base(raw), "."))
		err = os.Rename(raw, dir)
	}
	if err != nil {
		owner.Close()
		return "", nil, err
	}
	return dir, owner, nil
}

// sweep removes the folders in base whose owners are dead. What it may not touch or understand, it
// leaves: it is a courtesy to the machine, and no reason to fail.
func sweep(base string) {
	names, err := filepath.Glob(filepath.Join(base, tempPrefix+"*"))
	if err != nil {
		return // the pattern is wrong only if base is a strange name
	}
	for _, dir := range names {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() {
			continue
		}
		owner, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_WRONLY|syscall.O_NOFOLLOW, 0)
		if errors.Is(err, os.ErrNotExist) {
			os.Remove(dir) // only if it is empty: RemoveAll may have died after the owner file
			continue
		}
		if err != nil {
			continue
		}
		if lock(owner) == nil {
			os.RemoveAll(dir)
		}
		owner.Close()
	}
}

// lock locks f without waiting. The lock ends with the file's last descriptor, which no child
// inherits.
func lock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
