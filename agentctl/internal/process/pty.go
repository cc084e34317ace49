package process

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

type winsize struct{ rows, cols, x, y uint16 }

func ioctl(fd, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

// openPTY returns the two ends of a new pseudo terminal. The master works with deadlines.
func openPTY(cols, rows uint16) (master, slave *os.File, err error) {
	fd, err := syscall.Open("/dev/ptmx", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("/dev/ptmx: %w", err)
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	defer func() {
		if err != nil {
			master.Close()
		}
	}()
	var number, unlock int32
	if err = ioctl(uintptr(fd), syscall.TIOCSPTLCK, unsafe.Pointer(&unlock)); err != nil {
		return nil, nil, fmt.Errorf("unlock pty: %w", err)
	}
	if err = ioctl(uintptr(fd), syscall.TIOCGPTN, unsafe.Pointer(&number)); err != nil {
		return nil, nil, fmt.Errorf("number of pty: %w", err)
	}
	name := fmt.Sprintf("/dev/pts/%d", number)
	if slave, err = os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	if err = resize(master, cols, rows); err != nil {
		slave.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

func resize(master *os.File, cols, rows uint16) error {
	raw, err := master.SyscallConn()
	if err != nil {
		return err
	}
	size := winsize{rows: max(rows, 1), cols: max(cols, 1)}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = ioctl(fd, syscall.TIOCSWINSZ, unsafe.Pointer(&size)) }); err != nil {
		return err
	}
	return failed
}
