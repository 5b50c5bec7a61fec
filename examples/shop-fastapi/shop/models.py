"""The tables of the shop: plain SQLAlchemy, which knows nothing of jobs."""

import sys
from decimal import Decimal

from sqlalchemy import MetaData, Numeric, create_engine, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    """Has its tables in a schema of the shop's own."""

    metadata = MetaData(schema="shop")


class Order(Base):
    """An order of a customer."""

    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(primary_key=True)
    customer: Mapped[str]
    total: Mapped[Decimal] = mapped_column(Numeric(10, 2))
    status: Mapped[str] = mapped_column(default="received")


def driver_url(url: str) -> str:
    """The address for SQLAlchemy, which wants the driver's name in it."""
    return url.replace("postgresql://", "postgresql+psycopg://", 1)


def create_tables(owner_url: str) -> None:
    """Create the tables as their owner, and let the workers and the web application use them."""
    engine = create_engine(driver_url(owner_url))
    with engine.begin() as conn:
        conn.execute(text("create schema if not exists shop"))
        Base.metadata.create_all(conn)
        conn.execute(text("grant usage on schema shop to ostinato_worker"))
        conn.execute(text("grant select, insert, update on all tables in schema shop to ostinato_worker"))
        conn.execute(text("grant usage on all sequences in schema shop to ostinato_worker"))
    engine.dispose()


if __name__ == "__main__":
    create_tables(sys.argv[1])
