"""Who has invited somebody; unknown of invitations made before."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.add_column("invitation", sa.Column("inviter_id", sa.String(length=40), nullable=True))


def downgrade() -> None:
    op.drop_column("invitation", "inviter_id")
