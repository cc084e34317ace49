"""The steps of a connection test, by what they ask about. Called by ``sessions.doctor``, in its order."""
