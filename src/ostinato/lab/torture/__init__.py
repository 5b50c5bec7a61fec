"""`ostinato torture`: kills, pauses and cuts under load, and a count of the promises afterwards."""
