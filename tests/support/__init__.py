"""What tests of several folders use. Helpers of one folder stand there, beside the tests."""
