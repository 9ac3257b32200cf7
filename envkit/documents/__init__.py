"""The JSON documents that the interface fixes: plans and findings."""
