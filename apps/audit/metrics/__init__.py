"""What an operator's monitoring reads: numbers out of the rows, no names of anybody and no text."""
