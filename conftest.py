"""What holds for every test of the repository; fixtures stand beside the tests that use them."""

pytest_plugins = ["pytester", "tools.test.skip_table", "tools.test.tables"]
