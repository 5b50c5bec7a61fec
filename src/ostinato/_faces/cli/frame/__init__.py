"""What every command is made with: options, output, the database, values as people write them."""
