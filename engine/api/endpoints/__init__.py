"""The rows of the service's interface, one class for a group. `engine.api.service.Service` has them all."""
