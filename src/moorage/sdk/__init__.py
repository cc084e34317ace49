"""The SDK: sandboxes in the shape of E2B's, on sessions. Its names: ``sdk.names``; explained: docs/sdk.md."""
