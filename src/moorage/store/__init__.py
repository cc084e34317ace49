"""What must survive a crash: records, transcripts, encrypted secrets."""
