"""The SDK for those who do not write ``await``: made by ``python -m tools.sdk``, see ``sdk.runner``."""
