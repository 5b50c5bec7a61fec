"""Django's settings, small enough to read."""

import os
from urllib.parse import parse_qs, urlsplit

from django.core.management.utils import get_random_secret_key


def database(url: str) -> dict[str, str]:
    """An address as Django wants it."""
    parts = urlsplit(url)
    host = parts.hostname or parse_qs(parts.query).get("host", [""])[0]
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.lstrip("/"),
        "USER": parts.username or "",
        "PASSWORD": parts.password or os.environ.get("PGPASSWORD", ""),
        "HOST": host,
        "PORT": str(parts.port or parse_qs(parts.query).get("port", [""])[0]),
    }


SECRET_KEY = os.environ.get("SHOP_SECRET_KEY") or get_random_secret_key()
DEBUG = "SHOP_DEBUG" in os.environ
ALLOWED_HOSTS = ["localhost", "127.0.0.1"]
USE_TZ = True
ROOT_URLCONF = "shop.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

DATABASES = {
    "default": database(os.environ["SHOP_DATABASE_URL"]),  # logs in as a worker, and owns nothing
    "owner": database(os.environ.get("SHOP_OWNER_URL") or os.environ["SHOP_DATABASE_URL"]),  # migrates
}
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "shop.apps.ShopConfig",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
