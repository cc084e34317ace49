"""The four ways to patch an object: merge, JSON, strategic merge and server-side apply. Pure."""
