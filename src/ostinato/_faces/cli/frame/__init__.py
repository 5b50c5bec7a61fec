"""The parts that every command is made with: options, output, the database, values as text."""
