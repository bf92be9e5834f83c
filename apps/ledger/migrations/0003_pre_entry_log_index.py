"""Entries of a log are found by (log, seq); the key's own index cost a page at every append.

The index is dropped by name and not through the schema editor, which would rebuild the table on SQLite.
"""

import django.db.models.deletion
from django.db import migrations, models

INDEX = "ledger_entry_log_id_96e29658"


class Migration(migrations.Migration):
    dependencies = [("ledger", "0002_append_only")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    f"DROP INDEX IF EXISTS {INDEX}", reverse_sql=f"CREATE INDEX {INDEX} ON ledger_entry (log_id)"
                )
            ],
            state_operations=[
                migrations.AlterField(
                    model_name="entry",
                    name="log",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="entries",
                        to="ledger.log",
                    ),
                )
            ],
        )
    ]
