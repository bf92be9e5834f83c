"""One module for each kind of resource. A view reads a shape, calls a service, answers a shape."""
