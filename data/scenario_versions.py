"""Scenarios as they were sold: kept once for each content, and pointed to by every dialogue sold with it."""

from __future__ import annotations

import hashlib
import json

from pydantic import BaseModel
from sqlmodel import Session

from core.dialogues import utc_now
from core.scenarios import Scenario
from data.rows import insert_missing
from data.tables import ScenarioVersionRow

__all__ = ["content_hash", "keep_version"]


def content_hash(item: BaseModel) -> str:
    """SHA-256 of the canonical JSON (sorted keys, UTF-8) of a domain object, in hexadecimal."""
    canonical = json.dumps(item.model_dump(mode="json"), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def keep_version(session: Session, scenario: Scenario) -> str:
    """Keep the scenario as it is and return its content hash. Keeping it again changes nothing."""
    digest = content_hash(scenario)
    if session.get(ScenarioVersionRow, digest) is None:
        values = {
            "content_hash": digest,
            "scenario_id": scenario.id,
            "title": scenario.title,
            "body": scenario.model_dump(mode="json"),
            "created_at": utc_now(),
        }
        insert_missing(session, ScenarioVersionRow, values)
    return digest
