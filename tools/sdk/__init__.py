"""Makes the sync face of the SDK from the async one."""
