"""Triggers that make a table append-only.

Migrations call :func:`guard` after creating such a table, and again after a batch operation has rebuilt it: SQLite drops a
table's triggers with the table.
"""

from __future__ import annotations

from alembic.operations import Operations

__all__ = ["guard", "trigger_name", "unguard"]

_FUNCTION = "salesfloor_refuse_update"


def trigger_name(table: str) -> str:
    return f"{table}_is_append_only"


def guard(op: Operations, table: str) -> None:
    """Refuse UPDATE on ``table``. DELETE stays possible, for erasing a person."""
    name = trigger_name(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            f"CREATE OR REPLACE FUNCTION {_FUNCTION}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation'; END $$"
        )
        op.execute(f'CREATE TRIGGER {name} BEFORE UPDATE ON "{table}" FOR EACH ROW EXECUTE FUNCTION {_FUNCTION}()')
    else:
        op.execute(f"CREATE TRIGGER {name} BEFORE UPDATE ON \"{table}\" BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END")


def unguard(op: Operations, table: str) -> None:
    """Lift the guard, for a migration that has to rewrite rows."""
    on_table = f' ON "{table}"' if op.get_bind().dialect.name == "postgresql" else ""
    op.execute(f"DROP TRIGGER {trigger_name(table)}{on_table}")
