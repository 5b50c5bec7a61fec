"""The models of the shop."""

from django.db import models


class Order(models.Model):
    """An order of a customer."""

    customer = models.CharField(max_length=100)
    total = models.DecimalField(max_digits=10, decimal_places=2)
    status = models.CharField(max_length=20, default="received")

    def __str__(self) -> str:
        return f"{self.customer}: {self.total} ({self.status})"
