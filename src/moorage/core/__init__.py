"""Pure decisions: no I/O, clock, randomness or asyncio. Everything that decides lives here."""
