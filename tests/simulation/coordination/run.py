"""One run of the coordination play."""

from collections.abc import Callable

from tests.simulation.arena import Arena
from tests.simulation.coordination.children import Children
from tests.simulation.coordination.idempotency import Idempotency
from tests.simulation.coordination.leases import Leases
from tests.simulation.coordination.outbox import Outbox
from tests.simulation.coordination.scene import Concept, Scene, config_of
from tests.simulation.coordination.schedules import Schedules
from tests.simulation.coordination.step_actors import DurableSteps
from tests.simulation.drain import drain
from tests.simulation.nemesis import Nemesis
from tests.simulation.run import Run
from tests.simulation.steps import Broken, Failed, Process
from tests.simulation.workers import new_crew

CONCEPTS: tuple[type[Concept], ...] = (Leases, Idempotency, Outbox, Schedules, DurableSteps)
ALONE: tuple[type[Concept], ...] = (Children,)
"""Those that are played alone only: their jobs take steps of their own."""
MOST_STEPS = 3000


def run_coordination(
    arena: Arena,
    seed: int,
    *,
    concept: str = "",
    on_line: Callable[[str], None] | None = None,
    look_always: bool = False,
) -> Run:
    """Play a seed, with the concepts that it draws or with one alone.

    With `look_always` the tables are compared with the model after every step.
    """
    scene = Scene(arena, config_of(seed))
    scene.on_line, scene.look_always = on_line, look_always
    chosen = _chosen(scene, concept)
    scene.names = frozenset(each.name for each in chosen)
    scene.concepts = [each(scene) for each in chosen]
    broken: Broken | None = None
    try:
        _play(scene)
    except Broken as found:
        broken = found
        scene.log("broken", str(found))
    lines = [each.habits() for each in scene.concepts]
    options = f" --play coordination{f' --concept {concept}' if concept else ''}"
    digest = scene.digest.hexdigest()
    return Run(seed, scene.config, len(scene.trace), digest, scene.trace, broken, lines, options)


def _chosen(scene: Scene, concept: str) -> list[type[Concept]]:
    if concept:
        return [each for each in (*CONCEPTS, *ALONE) if each.name == concept]
    count = scene.rng.choice((1, 1, 1, 2, 3))
    return scene.rng.sample(CONCEPTS, min(count, len(CONCEPTS)))


def _play(scene: Scene) -> None:
    for concept in scene.concepts:
        concept.start()
    if any(concept.needs_workers for concept in scene.concepts):
        for _ in range(scene.rng.randint(1, 3)):
            new_crew(scene, after=round(scene.rng.uniform(0, 3), 3))
    if scene.config.faults:
        longest = max(concept.longest for concept in scene.concepts)
        scene.spawn("nemesis", Nemesis(scene, longest).work)
    scene.run(scene.config.steps)
    scene.quiesce()
    scene.look()
    for concept in scene.concepts:
        _drain(scene, concept.settle())
    drain(scene)
    for concept in scene.concepts:
        for worker in scene.model.workers.values():
            worker.up = False
        _drain(scene, concept.drain())
        scene.look()
    drain(scene)
    scene.look()


def _drain(scene: Scene, process: Process) -> None:
    task = scene.spawn("drain", lambda _: process)
    for _ in range(MOST_STEPS):
        if task.over:
            return
        if task.wake_at > scene.time:
            scene.pass_time(task.wake_at - scene.time)
        try:
            scene.step(task)
        except Failed as error:  # nobody else is there any more
            raise Broken("no call fails without a reason", str(error)) from error
    raise Broken("everything comes to an end", scene.trace[-1])
