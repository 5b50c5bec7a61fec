"""The life of a basket."""

from ostinato.machines import Machine, Transition

BASKET = Machine(
    "laundry_basket",
    about="A basket, from full to clean.",
    states=("full", "clean"),
    initial="full",
    terminal=("clean",),
    transitions=(Transition("full", "wash", "clean"),),
)
