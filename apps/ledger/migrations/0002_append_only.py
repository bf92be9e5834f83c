from django.db import migrations

from apps.ledger import triggers


def forwards(apps, schema_editor):
    triggers.install(schema_editor.connection)


def backwards(apps, schema_editor):
    triggers.uninstall(schema_editor.connection)


class Migration(migrations.Migration):
    """The triggers that refuse UPDATE, DELETE and TRUNCATE."""

    dependencies = [("ledger", "0001_initial")]
    operations = [migrations.RunPython(forwards, backwards)]
