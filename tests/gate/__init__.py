"""What `.ci/run` needs of the test runner."""

NOTED = "ENVKIT_TESTS_NOTED"  # variable: the file to which this run adds the tests that passed; skipped ones did not
BEFORE = "ENVKIT_TESTS_BEFORE"  # variable: such a file of earlier runs
