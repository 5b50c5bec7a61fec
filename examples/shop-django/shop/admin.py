"""The shop in Django's admin: an action adds jobs for the orders that were chosen."""

from django.contrib import admin
from django.db import connection, transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from shop.jobs import confirm_order
from shop.models import Order


@admin.register(Order)
class OrderAdmin(admin.ModelAdmin):
    """Lists orders, and confirms them again."""

    list_display = ("id", "customer", "total", "status")
    actions = ("confirm_again",)

    @admin.action(description="Confirm again")
    def confirm_again(self, request: HttpRequest, orders: QuerySet[Order]) -> None:
        """Add a job for each order."""
        with transaction.atomic():
            for order in orders:
                confirm_order.enqueue_sync(connection, order_id=order.pk)
        self.message_user(request, f"{orders.count()} orders will be confirmed.")
