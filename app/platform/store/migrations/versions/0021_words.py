"""An index of the words of estimates and of the models they ask for, together."""

from alembic import op

revision = "0021"
down_revision = "0020"

WORDS = (
    "(WITH RECURSIVE place(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM place WHERE i < length({row}label))"
    " SELECT group_concat(hex(substr(lower({row}label), i, n)), ' ') || ' m' || hex({row}model)"
    " FROM place, (SELECT 1 AS n UNION SELECT 2))"
)
"""Letters and pairs of letters of a label, and the model, as words that no tokenizer takes apart."""

ADDED = "INSERT INTO estimate_words (rowid, words) VALUES (new.rowid, " + WORDS.format(row="new.") + ")"

TAKEN = (
    "INSERT INTO estimate_words (estimate_words, rowid, words) VALUES ('delete', old.rowid, "
    + WORDS.format(row="old.")
    + ")"
)

CHANGED = "AFTER UPDATE OF label, model ON estimate"

SQLITE = (
    # Without the text and without places in it: which rows have all words is all that is asked.
    "CREATE VIRTUAL TABLE estimate_words USING fts5"
    "(words, content='', detail=none, columnsize=0, tokenize='ascii')",
    f"INSERT INTO estimate_words (rowid, words) SELECT rowid, {WORDS.format(row='')} FROM estimate",
    f"CREATE TRIGGER estimate_words_added AFTER INSERT ON estimate BEGIN {ADDED}; END",
    f"CREATE TRIGGER estimate_words_taken AFTER DELETE ON estimate BEGIN {TAKEN}; END",
    f"CREATE TRIGGER estimate_words_changed {CHANGED} BEGIN {TAKEN}; {ADDED}; END",
)

POSTGRESQL = (
    "CREATE FUNCTION estimate_pairs(label text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS "
    "$$ SELECT array_agg(DISTINCT substr(lower(label), i, n)) "
    "FROM generate_series(1, length(label)) AS i, generate_series(1, 2) AS n $$",
    "CREATE INDEX ix_estimate_words ON estimate USING gin "
    "(estimate_pairs(label), (ARRAY[CAST(model AS text)]))",
)

NONE = {
    "sqlite": (
        *(f"DROP TRIGGER IF EXISTS estimate_words_{event}" for event in ("added", "taken", "changed")),
        "DROP TABLE IF EXISTS estimate_words",
    ),
    "postgresql": (
        "DROP INDEX IF EXISTS ix_estimate_words",
        "DROP FUNCTION IF EXISTS estimate_pairs",
    ),
}


def upgrade() -> None:
    connection = op.get_bind()
    # Revision 0020 made one of labels alone before it was released.
    for statement in NONE[connection.dialect.name]:
        connection.exec_driver_sql(statement)
    for statement in SQLITE if connection.dialect.name == "sqlite" else POSTGRESQL:
        connection.exec_driver_sql(statement)


def downgrade() -> None:
    connection = op.get_bind()
    for statement in NONE[connection.dialect.name]:
        connection.exec_driver_sql(statement)
