"""Accounts: people, their workspaces, links, sessions and failed attempts."""

import sqlalchemy as sa
from alembic import op

from app.platform.store.queries import UtcDateTime

revision = "0009"

down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "account",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("sought", sa.String(length=300), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("password_hash", sa.String(length=200), nullable=True),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("totp_sealed", sa.String(length=400), nullable=True),
        sa.Column("totp_step", sa.Integer(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("sought"),
    )
    op.create_table(
        "recovery_code",
        sa.Column("account_id", sa.String(length=40), nullable=False),
        sa.Column("code_sha256", sa.String(length=64), nullable=False),
        sa.Column("used_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"]),
        sa.PrimaryKeyConstraint("account_id", "code_sha256"),
    )
    op.create_table(
        "membership",
        sa.Column("account_id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"]),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("account_id", "workspace_id"),
    )
    op.create_index("ix_membership_workspace", "membership", ["workspace_id"])
    op.create_table(
        "invitation",
        sa.Column("token_sha256", sa.String(length=64), nullable=False),
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("sought", sa.String(length=300), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.Column("used_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("token_sha256"),
        sa.UniqueConstraint("id"),
    )
    op.create_index("ix_invitation_workspace", "invitation", ["workspace_id", "created_at"])
    op.create_table(
        "password_link",
        sa.Column("token_sha256", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=40), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.Column("used_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"]),
        sa.PrimaryKeyConstraint("token_sha256"),
    )
    op.create_index("ix_password_link_account", "password_link", ["account_id"])
    op.create_table(
        "account_session",
        sa.Column("token_sha256", sa.String(length=64), nullable=False),
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("account_id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("seen_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.Column("address", sa.String(length=60), nullable=False),
        sa.Column("user_agent", sa.String(length=200), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"]),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"]),
        sa.PrimaryKeyConstraint("token_sha256"),
        sa.UniqueConstraint("id"),
    )
    op.create_index("ix_account_session_account", "account_session", ["account_id", "created_at"])
    op.create_table(
        "login_attempt",
        sa.Column("subject_sha256", sa.String(length=64), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("last_at", UtcDateTime(), nullable=False),
        sa.Column("blocked_until", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("subject_sha256"),
    )
    op.create_index("ix_login_attempt_last", "login_attempt", ["last_at"])


def downgrade() -> None:
    op.drop_index("ix_login_attempt_last", "login_attempt")
    op.drop_table("login_attempt")
    op.drop_index("ix_account_session_account", "account_session")
    op.drop_table("account_session")
    op.drop_index("ix_password_link_account", "password_link")
    op.drop_table("password_link")
    op.drop_index("ix_invitation_workspace", "invitation")
    op.drop_table("invitation")
    op.drop_index("ix_membership_workspace", "membership")
    op.drop_table("membership")
    op.drop_table("recovery_code")
    op.drop_table("account")
