"""The commands, and the extra that each needs. Reading them needs no package."""

COMMANDS = {
    "list": "Show the policies, environments and studies there are.",
    "reproduce": "Run the paper's experiments and compare with its claims.",
    "run": "Run a study of your own.",
    "report": "Write the report of a results folder.",
    "compare": "Compare two results folders.",
    "demo": "Watch a decision service learn, in the browser.",
    "serve": "Serve decisions over HTTP.",
    "key": "Make an API key for the service.",
    "export": "Write a decision point's log to a file.",
    "evaluate": "Say what another policy would have done, by a log.",
    "learn": "Let a chooser learn from a log.",
    "copy": "Copy a service's log to another storage.",
    "compact": "Remove a log's oldest events.",
    "erase": "Remove somebody's context values from a log for good.",
    "verify": "Check that a log, or a backup of one, is as it was written.",
}

_EXTRAS = {
    "bench": ("list", "reproduce", "run", "report", "compare"),
    "service": ("demo", "serve", "key", "export", "copy", "compact", "erase", "verify"),
    "logs": ("evaluate", "learn"),
}
# The extra that brings what a command needs.
EXTRA_OF = {command: extra for extra, commands in _EXTRAS.items() for command in commands}
