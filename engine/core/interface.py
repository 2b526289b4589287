"""The constants of the service's interface: the version in each path, the product in its identifiers."""

API_VERSION = "v22.0"
PRODUCT = "chat"
