"""The pages of the shop."""

import json
from decimal import Decimal, InvalidOperation

from django.db import connection, transaction
from django.http import HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from shop.jobs import confirm_order
from shop.models import Order


@csrf_exempt
@require_POST
def take_order(request: HttpRequest) -> JsonResponse:
    """Take an order and add the job that confirms it, in one transaction."""
    try:
        body = json.loads(request.body)
        customer, total = str(body["customer"]), Decimal(body["total"])
    except (ValueError, KeyError, TypeError, InvalidOperation):
        return JsonResponse({"error": 'Send {"customer": "Ada", "total": "12.50"}.'}, status=400)
    with transaction.atomic():
        order = Order.objects.create(customer=customer, total=total)
        job_id = confirm_order.enqueue_sync(connection, order_id=order.pk)  # with the order, or not at all
        if total > 1000:
            transaction.set_rollback(True)
            return JsonResponse({"error": "Orders above 1,000 are taken by telephone."}, status=422)
    return JsonResponse({"order": order.pk, "job": job_id}, status=202)


def show_order(_: HttpRequest, order_id: int) -> JsonResponse:
    """Show what became of an order."""
    order = get_object_or_404(Order, pk=order_id)
    return JsonResponse({"customer": order.customer, "status": order.status})
