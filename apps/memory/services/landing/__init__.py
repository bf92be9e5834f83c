"""Landing: the only place that writes governed files, through the one writer."""
