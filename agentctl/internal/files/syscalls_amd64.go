package files

const (
	sysRenameat2 = 316
	sysSyncfs    = 306
)
