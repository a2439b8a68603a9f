"""From bytes to operations and back: connections, requests, access, answers."""
