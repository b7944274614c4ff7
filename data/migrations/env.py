"""Alembic's entry. There is no alembic.ini: :mod:`data.schema` hands over an open connection, inside a transaction."""

from __future__ import annotations

from alembic import context

from data.tables import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    render_as_batch=True,
    # SQLite can roll back changes of the schema; Alembic assumes that it cannot, and would commit halfway.
    transactional_ddl=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
