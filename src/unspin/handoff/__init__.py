"""What a fresh session needs to know of this one, and whether what an agent says of it is so."""
