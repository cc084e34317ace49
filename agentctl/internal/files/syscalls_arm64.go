package files

const (
	sysRenameat2 = 276
	sysSyncfs    = 267
)
