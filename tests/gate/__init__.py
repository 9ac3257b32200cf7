"""What `.ci/run` needs of the test runner."""
