"""The web application: `uvicorn --factory shop.web:create_app`."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Request
from pydantic import BaseModel, Field
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from shop.jobs import confirm_order
from shop.models import Order, driver_url


class NewOrder(BaseModel):
    """What a customer sends."""

    customer: Annotated[str, Field(min_length=1, max_length=100)]
    total: Annotated[Decimal, Field(gt=0, max_digits=10, decimal_places=2)]


async def session_of(request: Request) -> AsyncIterator[AsyncSession]:
    """Give a request a session with one transaction, committed before the answer is sent."""
    async with AsyncSession(request.app.state.engine) as session, session.begin():
        yield session


Session = Annotated[AsyncSession, Depends(session_of, scope="function")]


def create_app(url: str | None = None) -> FastAPI:
    """Make the application for a database."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.engine = create_async_engine(driver_url(url or os.environ["SHOP_DATABASE_URL"]))
        yield
        await app.state.engine.dispose()

    app = FastAPI(title="Shop", lifespan=lifespan)

    @app.post("/orders", status_code=202)
    async def take_order(new: NewOrder, session: Session) -> dict[str, int]:
        order = Order(customer=new.customer, total=new.total)
        session.add(order)
        await session.flush()
        job_id = await confirm_order.enqueue(session, order_id=order.id)  # with the order, or not at all
        if new.total > 1000:
            raise HTTPException(422, "Orders above 1,000 are taken by telephone.")
        return {"order": order.id, "job": job_id}

    @app.get("/orders/{order_id}")
    async def show_order(order_id: int, session: Session) -> dict[str, str]:
        order = await session.get(Order, order_id)
        if order is None:
            raise HTTPException(404, f"There is no order {order_id}.")
        return {"customer": order.customer, "status": order.status}

    return app
