"""Accounts, the scenario library, dialogues, scores and the human baseline."""

import sqlalchemy as sa
from alembic import op

from data.migrations.append_only import guard

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

APPEND_ONLY = ("turn", "score")


def upgrade() -> None:
    op.create_table(
        "account",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("name_key", sa.String(), nullable=False),
        sa.Column("password_hash", sa.String(), nullable=True),
        sa.Column("language", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_account")),
        sa.UniqueConstraint("name_key", name=op.f("uq_account_name_key")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "baseline",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_baseline")),
        sa.UniqueConstraint("name", name=op.f("uq_baseline_name")),
    )
    op.create_table(
        "product",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column("domain", sa.String(), nullable=False),
        sa.Column("category", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("content_hash", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", "language", name=op.f("pk_product")),
    )
    op.create_table(
        "run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sa.UniqueConstraint("name", name=op.f("uq_run_name")),
    )
    op.create_table(
        "scenario_version",
        sa.Column("content_hash", sa.String(), nullable=False),
        sa.Column("scenario_id", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("content_hash", name=op.f("pk_scenario_version")),
    )
    op.create_index(op.f("ix_scenario_version_scenario_id"), "scenario_version", ["scenario_id"])
    op.create_table(
        "account_role",
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_account_role_account_id_account"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "role", name=op.f("pk_account_role")),
    )
    op.create_table(
        "persona",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("product_id", sa.String(), nullable=False),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("age", sa.Integer(), nullable=False),
        sa.Column("occupation", sa.String(), nullable=False),
        sa.Column("city", sa.String(), nullable=False),
        sa.Column("household", sa.String(), nullable=False),
        sa.Column("manner", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["product_id", "language"],
            ["product.id", "product.language"],
            name=op.f("fk_persona_product_id_language_product"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_persona")),
        sa.UniqueConstraint("product_id", "language", name=op.f("uq_persona_product_id_language")),
    )
    op.create_index(op.f("ix_persona_city"), "persona", ["city"])
    op.create_table(
        "sign_in_link",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("token_hash", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_sign_in_link_account_id_account"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_link")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_sign_in_link_token_hash")),
    )
    op.create_index(op.f("ix_sign_in_link_account_id"), "sign_in_link", ["account_id"])
    op.create_table(
        "web_session",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("token_hash", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_web_session_account_id_account"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_web_session")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_web_session_token_hash")),
    )
    op.create_index(op.f("ix_web_session_account_id"), "web_session", ["account_id"])
    op.create_table(
        "scenario",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("base", sa.String(), nullable=False),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column("setting", sa.String(), nullable=False),
        sa.Column("tier", sa.String(), nullable=False),
        sa.Column("propensity", sa.Float(), nullable=False),
        sa.Column("domain", sa.String(), nullable=False),
        sa.Column("category", sa.String(), nullable=False),
        sa.Column("category_name", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("search_text", sa.String(), nullable=False),
        sa.Column("product_id", sa.String(), nullable=False),
        sa.Column("persona_id", sa.Integer(), nullable=False),
        sa.Column("content_hash", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["content_hash"], ["scenario_version.content_hash"], name=op.f("fk_scenario_content_hash_scenario_version")
        ),
        sa.ForeignKeyConstraint(["persona_id"], ["persona.id"], name=op.f("fk_scenario_persona_id_persona")),
        sa.ForeignKeyConstraint(
            ["product_id", "language"], ["product.id", "product.language"], name=op.f("fk_scenario_product_id_language_product")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scenario")),
    )
    op.create_index(op.f("ix_scenario_base"), "scenario", ["base"])
    op.create_index(op.f("ix_scenario_language_domain_category"), "scenario", ["language", "domain", "category"])
    op.create_table(
        "dialogue",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("scenario_id", sa.String(), nullable=True),
        sa.Column("foreign_scenario_id", sa.String(), nullable=True),
        sa.Column("scenario_hash", sa.String(), nullable=True),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column("domain", sa.String(), nullable=True),
        sa.Column("tier", sa.String(), nullable=True),
        sa.Column("setting", sa.String(), nullable=False),
        sa.Column("propensity", sa.Float(), nullable=True),
        sa.Column("goal", sa.String(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("salesperson_kind", sa.String(), nullable=False),
        sa.Column("salesperson_name", sa.String(), nullable=False),
        sa.Column("customer_kind", sa.String(), nullable=False),
        sa.Column("customer_name", sa.String(), nullable=False),
        sa.Column("customer_settings", sa.JSON(), nullable=False),
        sa.Column("account_id", sa.Integer(), nullable=True),
        sa.Column("run_id", sa.Integer(), nullable=True),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("opens", sa.String(), nullable=False),
        sa.Column("max_rounds", sa.Integer(), nullable=False),
        sa.Column("session", sa.Integer(), nullable=False),
        sa.Column("parent_id", sa.String(), nullable=True),
        sa.Column("foreign_parent_id", sa.String(), nullable=True),
        sa.Column("branch_index", sa.Integer(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_by", sa.String(), nullable=True),
        sa.Column("meta", sa.JSON(), nullable=False),
        sa.CheckConstraint("propensity >= 0 AND propensity <= 1", name=op.f("ck_dialogue_propensity_in_range")),
        sa.CheckConstraint("session >= 1", name=op.f("ck_dialogue_session_from_one")),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"], name=op.f("fk_dialogue_account_id_account"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["parent_id"], ["dialogue.id"], name=op.f("fk_dialogue_parent_id_dialogue"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_dialogue_run_id_run"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(
            ["scenario_hash"], ["scenario_version.content_hash"], name=op.f("fk_dialogue_scenario_hash_scenario_version")
        ),
        sa.ForeignKeyConstraint(["scenario_id"], ["scenario.id"], name=op.f("fk_dialogue_scenario_id_scenario")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dialogue")),
    )
    op.create_index(op.f("ix_dialogue_account_id_started_at"), "dialogue", ["account_id", "started_at"])
    op.create_index(op.f("ix_dialogue_language_tier"), "dialogue", ["language", "tier"])
    op.create_index(op.f("ix_dialogue_mode_started_at"), "dialogue", ["mode", "started_at"])
    op.create_index(op.f("ix_dialogue_parent_id"), "dialogue", ["parent_id"])
    op.create_index(op.f("ix_dialogue_run_id_started_at"), "dialogue", ["run_id", "started_at"])
    op.create_index(op.f("ix_dialogue_salesperson_name"), "dialogue", ["salesperson_name"])
    op.create_index(op.f("ix_dialogue_scenario_hash"), "dialogue", ["scenario_hash"])
    op.create_index(op.f("ix_dialogue_scenario_id"), "dialogue", ["scenario_id"])
    op.create_index(op.f("ix_dialogue_started_at"), "dialogue", ["started_at"])
    op.create_table(
        "baseline_assignment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("baseline_id", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("scenario_id", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("dialogue_id", sa.String(), nullable=True),
        sa.CheckConstraint("position >= 1", name=op.f("ck_baseline_assignment_position_from_one")),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_baseline_assignment_account_id_account"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["baseline_id"], ["baseline.id"], name=op.f("fk_baseline_assignment_baseline_id_baseline"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["dialogue_id"], ["dialogue.id"], name=op.f("fk_baseline_assignment_dialogue_id_dialogue"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["scenario_id"], ["scenario.id"], name=op.f("fk_baseline_assignment_scenario_id_scenario")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_baseline_assignment")),
        sa.UniqueConstraint(
            "baseline_id", "account_id", "position", name=op.f("uq_baseline_assignment_baseline_id_account_id_position")
        ),
        sa.UniqueConstraint(
            "baseline_id", "account_id", "scenario_id", name=op.f("uq_baseline_assignment_baseline_id_account_id_scenario_id")
        ),
        sa.UniqueConstraint("dialogue_id", name=op.f("uq_baseline_assignment_dialogue_id")),
    )
    op.create_index(op.f("ix_baseline_assignment_account_id"), "baseline_assignment", ["account_id"])
    op.create_table(
        "dialogue_session",
        sa.Column("dialogue_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_by", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["dialogue_id"], ["dialogue.id"], name=op.f("fk_dialogue_session_dialogue_id_dialogue"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dialogue_id", "number", name=op.f("pk_dialogue_session")),
    )
    op.create_table(
        "model_failure",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("dialogue_id", sa.String(), nullable=False),
        sa.Column("session", sa.Integer(), nullable=False),
        sa.Column("turn_count", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("retryable", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["dialogue_id"], ["dialogue.id"], name=op.f("fk_model_failure_dialogue_id_dialogue"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_failure")),
    )
    op.create_index(op.f("ix_model_failure_dialogue_id"), "model_failure", ["dialogue_id"])
    op.create_table(
        "score",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("dialogue_id", sa.String(), nullable=False),
        sa.Column("scorer", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("intent", sa.String(), nullable=True),
        sa.Column("verbal_commitment", sa.Float(), nullable=True),
        sa.Column("next_step", sa.Float(), nullable=True),
        sa.Column("information_elicitation", sa.Float(), nullable=True),
        sa.Column("objection_resolution", sa.Float(), nullable=True),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "information_elicitation >= 0 AND information_elicitation <= 10",
            name=op.f("ck_score_information_elicitation_in_range"),
        ),
        sa.CheckConstraint("next_step >= 0 AND next_step <= 10", name=op.f("ck_score_next_step_in_range")),
        sa.CheckConstraint(
            "objection_resolution >= 0 AND objection_resolution <= 10", name=op.f("ck_score_objection_resolution_in_range")
        ),
        sa.CheckConstraint(
            "verbal_commitment >= 0 AND verbal_commitment <= 10", name=op.f("ck_score_verbal_commitment_in_range")
        ),
        sa.ForeignKeyConstraint(["dialogue_id"], ["dialogue.id"], name=op.f("fk_score_dialogue_id_dialogue"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_score")),
    )
    op.create_index(op.f("ix_score_dialogue_id_scorer_created_at"), "score", ["dialogue_id", "scorer", "created_at"])
    op.create_index(op.f("ix_score_scorer_version"), "score", ["scorer", "version"])
    op.create_table(
        "turn",
        sa.Column("dialogue_id", sa.String(), nullable=False),
        sa.Column("index", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("session", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("client_message_id", sa.String(), nullable=True),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("first_token_ms", sa.Float(), nullable=True),
        sa.Column("latency_ms", sa.Float(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=True),
        sa.Column("flags", sa.JSON(), nullable=False),
        sa.Column("state", sa.JSON(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("role IN ('salesperson', 'customer')", name=op.f("ck_turn_role_known")),
        sa.CheckConstraint('"index" >= 0', name=op.f("ck_turn_index_from_zero")),
        sa.CheckConstraint("length(text) > 0", name=op.f("ck_turn_text_not_empty")),
        sa.ForeignKeyConstraint(
            ["dialogue_id", "session"],
            ["dialogue_session.dialogue_id", "dialogue_session.number"],
            name=op.f("fk_turn_dialogue_id_session_dialogue_session"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("dialogue_id", "index", name=op.f("pk_turn")),
        sa.UniqueConstraint("dialogue_id", "client_message_id", name=op.f("uq_turn_dialogue_id_client_message_id")),
    )

    for table in APPEND_ONLY:
        guard(op, table)


def downgrade() -> None:
    for table in (
        "turn",
        "score",
        "model_failure",
        "dialogue_session",
        "baseline_assignment",
        "dialogue",
        "scenario",
        "web_session",
        "sign_in_link",
        "persona",
        "account_role",
        "scenario_version",
        "run",
        "product",
        "baseline",
        "account",
    ):
        op.drop_table(table)
