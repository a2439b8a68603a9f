"""Work on a log beside the service: export, verify, copy, compact."""
