"""Kills, pauses and cuts under load for `ostinato torture`, then counts the promises."""
