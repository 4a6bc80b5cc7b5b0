"""What large workspaces need: an index of the words of estimates, and indexes of what narrows other lists."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"

PAIRS = (
    "(WITH RECURSIVE place(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM place WHERE i < length({label}))"
    " SELECT group_concat(hex(substr(lower({label}), i, n)), ' ')"
    " FROM place, (SELECT 1 AS n UNION SELECT 2))"
)
"""Letters and pairs of letters of a label, as words that no tokenizer takes apart."""

ADDED = (
    "INSERT INTO estimate_words (rowid, pairs) VALUES (new.rowid, " + PAIRS.format(label="new.label") + ")"
)

TAKEN = (
    "INSERT INTO estimate_words (estimate_words, rowid, pairs) VALUES ('delete', old.rowid, "
    + PAIRS.format(label="old.label")
    + ")"
)

SQLITE = (
    # Without the text and without places in it: which rows have all pairs is all that is asked.
    "CREATE VIRTUAL TABLE estimate_words USING fts5"
    "(pairs, content='', detail=none, columnsize=0, tokenize='ascii')",
    "INSERT INTO estimate_words (rowid, pairs) SELECT rowid, "
    + PAIRS.format(label="label")
    + " FROM estimate",
    f"CREATE TRIGGER estimate_words_added AFTER INSERT ON estimate BEGIN {ADDED}; END",
    f"CREATE TRIGGER estimate_words_taken AFTER DELETE ON estimate BEGIN {TAKEN}; END",
    f"CREATE TRIGGER estimate_words_changed AFTER UPDATE OF label ON estimate BEGIN {TAKEN}; {ADDED}; END",
)

POSTGRESQL = (
    "CREATE FUNCTION estimate_pairs(label text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS "
    "$$ SELECT array_agg(DISTINCT substr(lower(label), i, n)) "
    "FROM generate_series(1, length(label)) AS i, generate_series(1, 2) AS n $$",
    "CREATE INDEX ix_estimate_words ON estimate USING gin (estimate_pairs(label))",
)

OF_TRAIL = ("action", "actor_kind", "actor_id", "object_kind", "object_id")

NAMING = {
    "estimate": "request", "sizing": "document", "sweep": "request", "bill": "request",
    "calibration": "request", "proposal": "content", "study_version": "content",
    "comparison_option": "request", "price_book_version": "rows",
}  # fmt: skip
"""Table → its column that may name an accelerator of a workspace."""


def upgrade() -> None:
    connection = op.get_bind()
    for statement in SQLITE if connection.dialect.name == "sqlite" else POSTGRESQL:
        connection.exec_driver_sql(statement)
    for column in OF_TRAIL:
        op.create_index(f"ix_audit_event_{column}", "audit_event", ["workspace_id", column, "at", "id"])
    for table, column in NAMING.items():
        few = sa.text(f"CAST({column} AS TEXT) LIKE '%own-%'")
        op.create_index(f"ix_{table}_own", table, ["workspace_id"], sqlite_where=few, postgresql_where=few)


def downgrade() -> None:
    connection = op.get_bind()
    for table in NAMING:
        op.drop_index(f"ix_{table}_own", table)
    for column in OF_TRAIL:
        op.drop_index(f"ix_audit_event_{column}", "audit_event")
    if connection.dialect.name == "sqlite":
        for event in ("added", "taken", "changed"):
            connection.exec_driver_sql(f"DROP TRIGGER estimate_words_{event}")
        connection.exec_driver_sql("DROP TABLE estimate_words")
    else:
        connection.exec_driver_sql("DROP INDEX ix_estimate_words")
        connection.exec_driver_sql("DROP FUNCTION estimate_pairs")
