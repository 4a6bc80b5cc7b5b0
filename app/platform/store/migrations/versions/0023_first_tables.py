"""The tables of version 0.1.0, from which every older database comes here."""

import re

from alembic import op

revision = "0023"
down_revision = None

TYPES = {
    "sqlite": {"MOMENT": "DATETIME", "DOCUMENT": "JSON", "BYTES": "BLOB", "YES": "1"},
    "postgresql": {
        "MOMENT": "TIMESTAMP WITH TIME ZONE",
        "DOCUMENT": "JSONB",
        "BYTES": "BYTEA",
        "YES": "true",
    },
}
"""What the words of the statements below are called by each database."""

TABLES = """
CREATE TABLE workspace (
    id VARCHAR(40) NOT NULL, name VARCHAR(200) NOT NULL, created_at MOMENT NOT NULL,
    last_proposal VARCHAR(20),
    PRIMARY KEY (id)
);
CREATE TABLE account (
    id VARCHAR(40) NOT NULL, email VARCHAR(254) NOT NULL, sought VARCHAR(300) NOT NULL,
    name VARCHAR(200) NOT NULL, password_hash VARCHAR(200), disabled BOOLEAN NOT NULL,
    totp_sealed VARCHAR(400), totp_step INTEGER, created_at MOMENT NOT NULL,
    untold_failures INTEGER DEFAULT '0' NOT NULL,
    PRIMARY KEY (id), UNIQUE (sought)
);
CREATE TABLE recovery_code (
    account_id VARCHAR(40) NOT NULL, code_sha256 VARCHAR(64) NOT NULL, used_at MOMENT,
    PRIMARY KEY (account_id, code_sha256), FOREIGN KEY (account_id) REFERENCES account (id)
);
CREATE TABLE password_link (
    token_sha256 VARCHAR(64) NOT NULL, account_id VARCHAR(40) NOT NULL, created_at MOMENT NOT NULL,
    expires_at MOMENT NOT NULL, used_at MOMENT,
    PRIMARY KEY (token_sha256), FOREIGN KEY (account_id) REFERENCES account (id)
);
CREATE INDEX ix_password_link_account ON password_link (account_id);
CREATE TABLE external_identity (
    issuer VARCHAR(500) NOT NULL, subject VARCHAR(255) NOT NULL, account_id VARCHAR(40) NOT NULL,
    created_at MOMENT NOT NULL,
    PRIMARY KEY (issuer, subject), FOREIGN KEY (account_id) REFERENCES account (id)
);
CREATE INDEX ix_external_identity_account_id ON external_identity (account_id);
CREATE TABLE login_attempt (
    subject_sha256 VARCHAR(64) NOT NULL, failures INTEGER NOT NULL, last_at MOMENT NOT NULL,
    blocked_until MOMENT NOT NULL,
    PRIMARY KEY (subject_sha256)
);
CREATE INDEX ix_login_attempt_last ON login_attempt (last_at);
CREATE TABLE membership (
    account_id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, role VARCHAR(20) NOT NULL,
    created_at MOMENT NOT NULL,
    PRIMARY KEY (account_id, workspace_id), FOREIGN KEY (account_id) REFERENCES account (id),
    FOREIGN KEY (workspace_id) REFERENCES workspace (id)
);
CREATE INDEX ix_membership_workspace ON membership (workspace_id);
CREATE TABLE invitation (
    token_sha256 VARCHAR(64) NOT NULL, id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL,
    email VARCHAR(254) NOT NULL, sought VARCHAR(300) NOT NULL, role VARCHAR(20) NOT NULL,
    created_at MOMENT NOT NULL, expires_at MOMENT NOT NULL, used_at MOMENT, inviter_id VARCHAR(40),
    PRIMARY KEY (token_sha256), FOREIGN KEY (workspace_id) REFERENCES workspace (id), UNIQUE (id)
);
CREATE INDEX ix_invitation_workspace ON invitation (workspace_id, created_at);
CREATE TABLE account_session (
    token_sha256 VARCHAR(64) NOT NULL, id VARCHAR(40) NOT NULL, account_id VARCHAR(40) NOT NULL,
    workspace_id VARCHAR(40) NOT NULL, complete BOOLEAN NOT NULL, created_at MOMENT NOT NULL,
    seen_at MOMENT NOT NULL, expires_at MOMENT NOT NULL, address VARCHAR(60) NOT NULL,
    user_agent VARCHAR(200) NOT NULL, failures INTEGER DEFAULT '0' NOT NULL,
    PRIMARY KEY (token_sha256), FOREIGN KEY (account_id) REFERENCES account (id),
    FOREIGN KEY (workspace_id) REFERENCES workspace (id), UNIQUE (id)
);
CREATE INDEX ix_account_session_account ON account_session (account_id, created_at);
CREATE TABLE api_key (
    id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, name VARCHAR(200) NOT NULL,
    prefix VARCHAR(20) NOT NULL, secret_sha256 VARCHAR(64) NOT NULL, scopes DOCUMENT NOT NULL,
    created_at MOMENT NOT NULL, expires_at MOMENT, last_used_at MOMENT, revoked_at MOMENT,
    successor_id VARCHAR(40), grace_ends_at MOMENT,
    PRIMARY KEY (id), FOREIGN KEY (workspace_id) REFERENCES workspace (id), UNIQUE (prefix)
);
CREATE INDEX ix_api_key_listing ON api_key (workspace_id, created_at, id);
CREATE TABLE rate_window (
    workspace_id VARCHAR(40) NOT NULL, name VARCHAR(200) NOT NULL, position BIGINT NOT NULL,
    hits INTEGER NOT NULL, ends_at MOMENT NOT NULL,
    PRIMARY KEY (workspace_id, name, position), FOREIGN KEY (workspace_id) REFERENCES workspace (id)
);
CREATE INDEX ix_rate_window_ends ON rate_window (ends_at);
CREATE TABLE idempotency_key (
    workspace_id VARCHAR(40) NOT NULL, endpoint VARCHAR(100) NOT NULL, key VARCHAR(200) NOT NULL,
    body_sha256 VARCHAR(64) NOT NULL, answer DOCUMENT NOT NULL, created_at MOMENT NOT NULL,
    PRIMARY KEY (workspace_id, endpoint, key), FOREIGN KEY (workspace_id) REFERENCES workspace (id)
);
CREATE INDEX ix_idempotency_key_age ON idempotency_key (workspace_id, created_at);
CREATE TABLE audit_event (
    id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, at MOMENT NOT NULL,
    action VARCHAR(60) NOT NULL, actor_kind VARCHAR(20) NOT NULL, actor_id VARCHAR(80) NOT NULL,
    actor_name VARCHAR(200) NOT NULL, object_kind VARCHAR(40) NOT NULL, object_id VARCHAR(80) NOT NULL,
    address VARCHAR(64) NOT NULL, request_id VARCHAR(64) NOT NULL, detail DOCUMENT NOT NULL,
    PRIMARY KEY (id), FOREIGN KEY (workspace_id) REFERENCES workspace (id)
);
CREATE INDEX ix_audit_event_action ON audit_event (workspace_id, action, at, id);
CREATE INDEX ix_audit_event_actor_id ON audit_event (workspace_id, actor_id, at, id);
CREATE INDEX ix_audit_event_actor_kind ON audit_event (workspace_id, actor_kind, at, id);
CREATE INDEX ix_audit_event_listing ON audit_event (workspace_id, at, id);
CREATE INDEX ix_audit_event_object_id ON audit_event (workspace_id, object_id, at, id);
CREATE INDEX ix_audit_event_object_kind ON audit_event (workspace_id, object_kind, at, id);
CREATE TABLE retention_clock (
    workspace_id VARCHAR(40) NOT NULL, seen_at MOMENT NOT NULL, steady_since MOMENT NOT NULL,
    PRIMARY KEY (workspace_id), FOREIGN KEY (workspace_id) REFERENCES workspace (id)
);
CREATE TABLE chore (
    name VARCHAR(40) NOT NULL, turn_at MOMENT NOT NULL,
    PRIMARY KEY (name)
);
CREATE TABLE profile (
    id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, name VARCHAR(300) NOT NULL,
    kind VARCHAR(40) NOT NULL, document DOCUMENT NOT NULL, created_at MOMENT NOT NULL,
    customer VARCHAR(200) DEFAULT '' NOT NULL,
    PRIMARY KEY (id), FOREIGN KEY (workspace_id) REFERENCES workspace (id)
);
CREATE INDEX ix_profile_customer ON profile (workspace_id, customer, created_at, id);
CREATE INDEX ix_profile_listing ON profile (workspace_id, created_at, id);
CREATE UNIQUE INDEX ux_profile_workspace ON profile (workspace_id, id);
CREATE TABLE upload_file (
    profile_id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, sha256 VARCHAR(64) NOT NULL,
    name VARCHAR(300) NOT NULL, size INTEGER NOT NULL, created_at MOMENT NOT NULL,
    PRIMARY KEY (profile_id), FOREIGN KEY (workspace_id) REFERENCES workspace (id),
    FOREIGN KEY (workspace_id, profile_id) REFERENCES profile (workspace_id, id)
);
CREATE INDEX ix_upload_file_address ON upload_file (workspace_id, sha256);
CREATE TABLE workload_sample (
    id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, name VARCHAR(300) NOT NULL,
    document DOCUMENT NOT NULL, created_at MOMENT NOT NULL, customer VARCHAR(200) DEFAULT '' NOT NULL,
    PRIMARY KEY (id), FOREIGN KEY (workspace_id) REFERENCES workspace (id)
);
CREATE INDEX ix_workload_sample_customer ON workload_sample (workspace_id, customer, created_at, id);
CREATE INDEX ix_workload_sample_listing ON workload_sample (workspace_id, created_at, id);
CREATE TABLE calibration (
    id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, label VARCHAR(300) NOT NULL,
    request DOCUMENT NOT NULL, document DOCUMENT NOT NULL, profile DOCUMENT, created_at MOMENT NOT NULL,
    PRIMARY KEY (id), FOREIGN KEY (workspace_id) REFERENCES workspace (id)
);
CREATE INDEX ix_calibration_listing ON calibration (workspace_id, created_at, id);
CREATE INDEX ix_calibration_own ON calibration (workspace_id)
    WHERE CAST(request AS TEXT) LIKE '%own-%';
CREATE TABLE accelerator (
    id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, name VARCHAR(100) NOT NULL,
    version INTEGER NOT NULL, created_at MOMENT NOT NULL, updated_at MOMENT NOT NULL, deleted_at MOMENT,
    PRIMARY KEY (id), FOREIGN KEY (workspace_id) REFERENCES workspace (id), UNIQUE (workspace_id, id)
);
CREATE INDEX ix_accelerator_changes ON accelerator (workspace_id, updated_at, id);
CREATE INDEX ix_accelerator_listing ON accelerator (workspace_id, created_at, id);
CREATE TABLE accelerator_version (
    accelerator_id VARCHAR(40) NOT NULL, version INTEGER NOT NULL, workspace_id VARCHAR(40) NOT NULL,
    stated_by VARCHAR(200) NOT NULL, document DOCUMENT NOT NULL, created_at MOMENT NOT NULL,
    PRIMARY KEY (accelerator_id, version), FOREIGN KEY (workspace_id) REFERENCES workspace (id),
    FOREIGN KEY (workspace_id, accelerator_id) REFERENCES accelerator (workspace_id, id)
);
CREATE TABLE price_book (
    id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, name VARCHAR(200) NOT NULL,
    version INTEGER NOT NULL, row_count INTEGER NOT NULL, created_at MOMENT NOT NULL,
    updated_at MOMENT NOT NULL,
    PRIMARY KEY (id), FOREIGN KEY (workspace_id) REFERENCES workspace (id), UNIQUE (workspace_id, id)
);
CREATE INDEX ix_price_book_changes ON price_book (workspace_id, updated_at, id);
CREATE INDEX ix_price_book_listing ON price_book (workspace_id, created_at, id);
CREATE TABLE price_book_version (
    book_id VARCHAR(40) NOT NULL, version INTEGER NOT NULL, workspace_id VARCHAR(40) NOT NULL,
    name VARCHAR(200) NOT NULL, comment VARCHAR(300) NOT NULL, rows DOCUMENT NOT NULL,
    created_at MOMENT NOT NULL,
    PRIMARY KEY (book_id, version), FOREIGN KEY (workspace_id) REFERENCES workspace (id),
    FOREIGN KEY (workspace_id, book_id) REFERENCES price_book (workspace_id, id)
);
CREATE INDEX ix_price_book_version_own ON price_book_version (workspace_id)
    WHERE CAST(rows AS TEXT) LIKE '%own-%';
CREATE TABLE estimate (
    id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, label VARCHAR(300) NOT NULL,
    request DOCUMENT NOT NULL, document DOCUMENT NOT NULL, created_at MOMENT NOT NULL,
    model VARCHAR(200) DEFAULT '' NOT NULL,
    PRIMARY KEY (id), FOREIGN KEY (workspace_id) REFERENCES workspace (id), UNIQUE (workspace_id, id)
);
CREATE INDEX ix_estimate_listing ON estimate (workspace_id, created_at, id);
CREATE INDEX ix_estimate_model ON estimate (workspace_id, model, created_at, id);
CREATE INDEX ix_estimate_own ON estimate (workspace_id)
    WHERE CAST(request AS TEXT) LIKE '%own-%';
CREATE TABLE comparison (
    id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, title VARCHAR(300) NOT NULL,
    locale VARCHAR(20) NOT NULL, currency VARCHAR(3) NOT NULL, version INTEGER NOT NULL,
    created_at MOMENT NOT NULL, updated_at MOMENT NOT NULL,
    PRIMARY KEY (id), FOREIGN KEY (workspace_id) REFERENCES workspace (id), UNIQUE (workspace_id, id)
);
CREATE INDEX ix_comparison_changes ON comparison (workspace_id, updated_at, id);
CREATE INDEX ix_comparison_listing ON comparison (workspace_id, created_at, id);
CREATE TABLE comparison_option (
    comparison_id VARCHAR(40) NOT NULL, position INTEGER NOT NULL, workspace_id VARCHAR(40) NOT NULL,
    request DOCUMENT NOT NULL, estimate_id VARCHAR(40),
    PRIMARY KEY (comparison_id, position),
    FOREIGN KEY (workspace_id, comparison_id) REFERENCES comparison (workspace_id, id),
    FOREIGN KEY (workspace_id, estimate_id) REFERENCES estimate (workspace_id, id),
    FOREIGN KEY (workspace_id) REFERENCES workspace (id)
);
CREATE INDEX ix_comparison_option_own ON comparison_option (workspace_id)
    WHERE CAST(request AS TEXT) LIKE '%own-%';
CREATE TABLE sizing (
    id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, label VARCHAR(300) NOT NULL,
    request DOCUMENT NOT NULL, document DOCUMENT NOT NULL, samples DOCUMENT NOT NULL,
    created_at MOMENT NOT NULL, model VARCHAR(200) DEFAULT '' NOT NULL,
    PRIMARY KEY (id), FOREIGN KEY (workspace_id) REFERENCES workspace (id)
);
CREATE INDEX ix_sizing_listing ON sizing (workspace_id, created_at, id);
CREATE INDEX ix_sizing_model ON sizing (workspace_id, model, created_at, id);
CREATE INDEX ix_sizing_own ON sizing (workspace_id)
    WHERE CAST(document AS TEXT) LIKE '%own-%';
CREATE TABLE bill (
    id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, label VARCHAR(300) NOT NULL,
    request DOCUMENT NOT NULL, document DOCUMENT NOT NULL, created_at MOMENT NOT NULL,
    PRIMARY KEY (id), FOREIGN KEY (workspace_id) REFERENCES workspace (id)
);
CREATE INDEX ix_bill_listing ON bill (workspace_id, created_at, id);
CREATE INDEX ix_bill_own ON bill (workspace_id)
    WHERE CAST(request AS TEXT) LIKE '%own-%';
CREATE TABLE study (
    id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, name VARCHAR(300) NOT NULL,
    sought VARCHAR(600) NOT NULL, options INTEGER NOT NULL, version INTEGER NOT NULL,
    archived BOOLEAN NOT NULL, created_at MOMENT NOT NULL, updated_at MOMENT NOT NULL,
    saved BOOLEAN DEFAULT YES NOT NULL, customer VARCHAR(200) DEFAULT '' NOT NULL,
    PRIMARY KEY (id), FOREIGN KEY (workspace_id) REFERENCES workspace (id), UNIQUE (workspace_id, id)
);
CREATE INDEX ix_study_changes ON study (workspace_id, updated_at, id);
CREATE INDEX ix_study_customer ON study (workspace_id, customer, created_at, id);
CREATE INDEX ix_study_listing ON study (workspace_id, archived, saved, created_at, id);
CREATE TABLE study_version (
    study_id VARCHAR(40) NOT NULL, version INTEGER NOT NULL, workspace_id VARCHAR(40) NOT NULL,
    content DOCUMENT NOT NULL, changes DOCUMENT NOT NULL, created_at MOMENT NOT NULL,
    PRIMARY KEY (study_id, version), FOREIGN KEY (workspace_id) REFERENCES workspace (id),
    FOREIGN KEY (workspace_id, study_id) REFERENCES study (workspace_id, id)
);
CREATE INDEX ix_study_version_own ON study_version (workspace_id)
    WHERE CAST(content AS TEXT) LIKE '%own-%';
CREATE TABLE study_state (
    study_id VARCHAR(40) NOT NULL, token VARCHAR(16) NOT NULL, workspace_id VARCHAR(40) NOT NULL,
    document DOCUMENT NOT NULL, created_at MOMENT NOT NULL,
    PRIMARY KEY (study_id, token), FOREIGN KEY (workspace_id) REFERENCES workspace (id),
    FOREIGN KEY (workspace_id, study_id) REFERENCES study (workspace_id, id)
);
CREATE TABLE job (
    id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, kind VARCHAR(20) NOT NULL,
    status VARCHAR(20) NOT NULL, message DOCUMENT, total INTEGER NOT NULL, done INTEGER NOT NULL,
    fence INTEGER NOT NULL, beat INTEGER NOT NULL, attempts INTEGER NOT NULL, runner VARCHAR(80),
    created_at MOMENT NOT NULL, updated_at MOMENT NOT NULL,
    PRIMARY KEY (id), FOREIGN KEY (workspace_id) REFERENCES workspace (id), UNIQUE (workspace_id, id)
);
CREATE INDEX ix_job_status ON job (status, created_at);
CREATE TABLE sweep (
    id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, title VARCHAR(300) NOT NULL,
    request DOCUMENT NOT NULL, created_at MOMENT NOT NULL,
    PRIMARY KEY (id), FOREIGN KEY (workspace_id) REFERENCES workspace (id), UNIQUE (workspace_id, id)
);
CREATE INDEX ix_sweep_listing ON sweep (workspace_id, created_at, id);
CREATE INDEX ix_sweep_own ON sweep (workspace_id)
    WHERE CAST(request AS TEXT) LIKE '%own-%';
CREATE TABLE sweep_row (
    sweep_id VARCHAR(40) NOT NULL, position INTEGER NOT NULL, workspace_id VARCHAR(40) NOT NULL,
    key VARCHAR(40) NOT NULL, model VARCHAR(200) NOT NULL, system VARCHAR(200) NOT NULL,
    price VARCHAR(200) NOT NULL, scenario VARCHAR(200) NOT NULL, refused BOOLEAN NOT NULL,
    time_to_train FLOAT, cost FLOAT, document DOCUMENT NOT NULL,
    PRIMARY KEY (sweep_id, position), FOREIGN KEY (workspace_id) REFERENCES workspace (id),
    FOREIGN KEY (workspace_id, sweep_id) REFERENCES sweep (workspace_id, id)
);
CREATE TABLE proposal (
    id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, title VARCHAR(300) NOT NULL,
    customer VARCHAR(300) NOT NULL, request DOCUMENT NOT NULL, content DOCUMENT NOT NULL,
    valid_until VARCHAR(10), version INTEGER NOT NULL, sha256 VARCHAR(64), frozen_at MOMENT,
    created_at MOMENT NOT NULL, updated_at MOMENT NOT NULL, number VARCHAR(20),
    review VARCHAR(12) DEFAULT 'draft' NOT NULL, opened INTEGER DEFAULT '0' NOT NULL,
    first_opened_at MOMENT, last_opened_at MOMENT, amount FLOAT, currency VARCHAR(3) DEFAULT '' NOT NULL,
    PRIMARY KEY (id), FOREIGN KEY (workspace_id) REFERENCES workspace (id), UNIQUE (workspace_id, id)
);
CREATE INDEX ix_proposal_changes ON proposal (workspace_id, updated_at, id);
CREATE INDEX ix_proposal_customer ON proposal (workspace_id, customer, created_at, id);
CREATE INDEX ix_proposal_listing ON proposal (workspace_id, created_at, id);
CREATE UNIQUE INDEX ix_proposal_number ON proposal (workspace_id, number);
CREATE INDEX ix_proposal_own ON proposal (workspace_id)
    WHERE CAST(content AS TEXT) LIKE '%own-%';
CREATE TABLE proposal_event (
    proposal_id VARCHAR(40) NOT NULL, position INTEGER NOT NULL, workspace_id VARCHAR(40) NOT NULL,
    kind VARCHAR(20) NOT NULL, at MOMENT NOT NULL, detail DOCUMENT NOT NULL,
    PRIMARY KEY (proposal_id, position), FOREIGN KEY (workspace_id) REFERENCES workspace (id),
    FOREIGN KEY (workspace_id, proposal_id) REFERENCES proposal (workspace_id, id)
);
CREATE TABLE proposal_artifact (
    proposal_id VARCHAR(40) NOT NULL, kind VARCHAR(20) NOT NULL, workspace_id VARCHAR(40) NOT NULL,
    sha256 VARCHAR(64) NOT NULL, data BYTES NOT NULL,
    PRIMARY KEY (proposal_id, kind), FOREIGN KEY (workspace_id) REFERENCES workspace (id),
    FOREIGN KEY (workspace_id, proposal_id) REFERENCES proposal (workspace_id, id)
);
CREATE TABLE proposal_share (
    token_sha256 VARCHAR(64) NOT NULL, workspace_id VARCHAR(40) NOT NULL, proposal_id VARCHAR(40) NOT NULL,
    passphrase_salt VARCHAR(64), passphrase_hash VARCHAR(128), created_at MOMENT NOT NULL,
    expires_at MOMENT NOT NULL, revoked_at MOMENT, opened INTEGER NOT NULL, noted_at MOMENT,
    failures INTEGER NOT NULL, failed_at MOMENT,
    PRIMARY KEY (token_sha256), FOREIGN KEY (workspace_id) REFERENCES workspace (id),
    FOREIGN KEY (workspace_id, proposal_id) REFERENCES proposal (workspace_id, id)
);
CREATE INDEX ix_proposal_share_proposal ON proposal_share (workspace_id, proposal_id, created_at);
CREATE TABLE webhook (
    id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, name VARCHAR(200) NOT NULL,
    url VARCHAR(500) NOT NULL, events DOCUMENT NOT NULL, sealed_secret VARCHAR(400) NOT NULL,
    previous_sealed VARCHAR(400), previous_until MOMENT, active BOOLEAN NOT NULL, disabled DOCUMENT,
    succeeded_at MOMENT, created_at MOMENT NOT NULL, updated_at MOMENT NOT NULL,
    PRIMARY KEY (id), FOREIGN KEY (workspace_id) REFERENCES workspace (id), UNIQUE (workspace_id, id)
);
CREATE INDEX ix_webhook_listing ON webhook (workspace_id, created_at, id);
CREATE TABLE webhook_delivery (
    id VARCHAR(40) NOT NULL, workspace_id VARCHAR(40) NOT NULL, webhook_id VARCHAR(40) NOT NULL,
    event VARCHAR(40) NOT NULL, body VARCHAR NOT NULL, status VARCHAR(20) NOT NULL,
    attempts INTEGER NOT NULL, next_try_at MOMENT, leased_until MOMENT, tried_at MOMENT,
    response_status INTEGER, response_text VARCHAR(1000) NOT NULL, reason DOCUMENT,
    created_at MOMENT NOT NULL,
    PRIMARY KEY (id), FOREIGN KEY (workspace_id) REFERENCES workspace (id),
    FOREIGN KEY (workspace_id, webhook_id) REFERENCES webhook (workspace_id, id)
);
CREATE INDEX ix_webhook_delivery_due ON webhook_delivery (status, next_try_at);
CREATE INDEX ix_webhook_delivery_listing ON webhook_delivery (workspace_id, webhook_id, created_at, id)
"""

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

REFUSED = "the audit trail only grows"

OWN = {
    "sqlite": (
        *(
            f"CREATE TRIGGER audit_event_{verb.lower()} BEFORE {verb} ON audit_event "
            f"BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
            for verb in ("UPDATE", "DELETE")
        ),
        # Without the text and without places in it: which rows have all words is all that is asked.
        "CREATE VIRTUAL TABLE estimate_words USING fts5"
        "(words, content='', detail=none, columnsize=0, tokenize='ascii')",
        f"CREATE TRIGGER estimate_words_added AFTER INSERT ON estimate BEGIN {ADDED}; END",
        f"CREATE TRIGGER estimate_words_taken AFTER DELETE ON estimate BEGIN {TAKEN}; END",
        "CREATE TRIGGER estimate_words_changed AFTER UPDATE OF label, model ON estimate "
        f"BEGIN {TAKEN}; {ADDED}; END",
    ),
    "postgresql": (
        "CREATE FUNCTION audit_event_kept() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN IF TG_OP = 'UPDATE' AND current_setting('rackline.erasing', true) = 'on' "
        f"THEN RETURN NEW; END IF; RAISE EXCEPTION '{REFUSED}'; END $$",
        "CREATE TRIGGER audit_event_kept BEFORE UPDATE OR DELETE ON audit_event "
        "FOR EACH ROW EXECUTE FUNCTION audit_event_kept()",
        "CREATE TRIGGER audit_event_whole BEFORE TRUNCATE ON audit_event "
        "FOR EACH STATEMENT EXECUTE FUNCTION audit_event_kept()",
        "CREATE FUNCTION estimate_pairs(label text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS "
        "$$ SELECT array_agg(DISTINCT substr(lower(label), i, n)) "
        "FROM generate_series(1, length(label)) AS i, generate_series(1, 2) AS n $$",
        "CREATE INDEX ix_estimate_words ON estimate USING gin "
        "(estimate_pairs(label), (ARRAY[CAST(model AS text)]))",
    ),
}
"""The guard of the audit log and the index of words, which each database has in its own way."""


def upgrade() -> None:
    dialect = op.get_bind().dialect.name
    types = TYPES[dialect]
    tables = re.sub(rf"\b({'|'.join(types)})\b", lambda word: types[word[0]], TABLES)
    for statement in (*tables.split(";"), *OWN[dialect]):
        op.execute(statement)
