"""The first tables of the shop."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Creates the orders, and lets the workers and the web application use the tables of Django."""

    dependencies = [("admin", "0001_initial"), ("sessions", "0001_initial")]
    operations = [
        migrations.CreateModel(
            name="Order",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("customer", models.CharField(max_length=100)),
                ("total", models.DecimalField(decimal_places=2, max_digits=10)),
                ("status", models.CharField(default="received", max_length=20)),
            ],
        ),
        migrations.RunSQL(
            "grant select, insert, update, delete on all tables in schema public to ostinato_worker;"
            "grant usage on all sequences in schema public to ostinato_worker",
            reverse_sql=migrations.RunSQL.noop,
        ),
    ]
