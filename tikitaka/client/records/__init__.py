"""What the server answers, as it is at that moment. Words such as a status are text: a newer server may know more."""
