"""Where the pages are."""

from django.contrib import admin
from django.urls import path

from shop import views

urlpatterns = [
    path("orders", views.take_order),
    path("orders/<int:order_id>", views.show_order),
    path("admin/", admin.site.urls),
]
