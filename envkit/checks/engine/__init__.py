"""The engine of the checks: registry, runner, findings, remedies."""
