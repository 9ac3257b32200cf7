"""Read pasted text (logs, dumps, command output in any mix) into the same facts that a probe gives."""
