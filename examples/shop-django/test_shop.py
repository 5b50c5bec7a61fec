"""Tests of the shop: the real PostgreSQL, the real engine, no worker process."""

import asyncio
import os
from collections.abc import Iterator

import django
import pytest
from django.core.management import call_command
from django.db import connections
from django.test import Client

from ostinato import testing


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def engine(loop: asyncio.Runner) -> Iterator[testing.Engine]:
    context = testing.engine()
    engine = loop.run(context.__aenter__())
    os.environ["SHOP_DATABASE_URL"] = engine.database.url
    os.environ["SHOP_OWNER_URL"] = engine.database.server.urls("ostinato_test").owner
    os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
    django.setup()
    call_command("migrate", database="owner", verbosity=0)
    yield engine
    connections.close_all()
    loop.run(context.__aexit__(None, None, None))


def test_an_order_is_confirmed_by_its_job(engine: testing.Engine, loop: asyncio.Runner) -> None:
    from shop.jobs import app

    order = Client().post("/orders", {"customer": "Ada", "total": "12.50"}, "application/json").json()["order"]
    assert Client().get(f"/orders/{order}").json() == {"customer": "Ada", "status": "received"}

    report = loop.run(engine.run_until_idle(app))

    assert report.done == 1
    assert Client().get(f"/orders/{order}").json() == {"customer": "Ada", "status": "confirmed"}


def test_an_order_that_is_refused_leaves_no_job(engine: testing.Engine, loop: asyncio.Runner) -> None:
    from shop.jobs import app
    from shop.models import Order

    before = Order.objects.count()
    assert Client().post("/orders", {"customer": "Ada", "total": "1500"}, "application/json").status_code == 422

    assert loop.run(engine.run_until_idle(app)).done == 0
    assert Order.objects.count() == before


def test_orders_are_confirmed_again_from_the_admin(engine: testing.Engine, loop: asyncio.Runner) -> None:
    from django.contrib.auth.models import User
    from shop.jobs import app
    from shop.models import Order

    order = Order.objects.create(customer="Ada", total="3.00")
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    answer = client.post("/admin/shop/order/", {"action": "confirm_again", "_selected_action": [order.pk]}, follow=True)

    assert "1 orders will be confirmed" in answer.content.decode()
    assert loop.run(engine.run_until_idle(app)).done == 1


@pytest.mark.usefixtures("engine")
def test_a_role_that_may_not_add_jobs_is_found_by_djangos_checks() -> None:
    call_command("check", databases=["default"], verbosity=0)
    with connections["default"].cursor() as cursor:
        cursor.execute("set role ostinato_tenant")
    with pytest.raises(Exception, match="ostinato db grant ostinato_tenant"):
        call_command("check", databases=["default"], verbosity=0)
    connections["default"].close()
