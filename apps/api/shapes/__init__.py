"""What goes in and out, as the description shows it. Answers are read straight into these shapes, see base.columns."""
