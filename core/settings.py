"""Settings: from ``SALESFLOOR_…`` environment variables, then ``salesfloor.toml``, then the defaults below.

The file is looked for in the working folder, then in the user's configuration folder; ``SALESFLOOR_CONFIG`` names another.
Secrets are never settings: an endpoint names the environment variable that holds its key.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any, Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, HttpUrl, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from core.dialogues import MAX_ROUNDS
from core.errors import InvalidInput, Problem

__all__ = ["ModelEndpoint", "Sampling", "Settings", "load_settings"]


class Sampling(BaseModel):
    """Sampling of every model, seller and customer alike. The defaults are the benchmark's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: float = Field(default=0.8, ge=0.0, le=2.0)
    top_p: float = Field(default=0.99, gt=0.0, le=1.0)
    max_tokens: int = Field(default=2048, ge=1)


class ModelEndpoint(Sampling):
    """An OpenAI-compatible endpoint: ``[models.NAME]`` in the configuration file."""

    base_url: HttpUrl
    model: str
    api_key_env: str | None = Field(default=None, description="Name of the environment variable that holds the key.")
    timeout_s: float = Field(default=120.0, gt=0.0, description="Longest wait between two pieces of a reply.")
    connect_timeout_s: float = Field(default=10.0, gt=0.0)
    max_attempts: int = Field(default=4, ge=1, le=10)
    concurrency: int | None = Field(default=None, ge=1, description="Most requests at once. None: as many as there are.")
    prompt_price: float | None = Field(default=None, ge=0.0, description="Price of a million prompt tokens, in your currency.")
    completion_price: float | None = Field(default=None, ge=0.0, description="Price of a million completion tokens.")
    reply_format: Literal["json", "text"] = Field(
        default="json",
        description="'json': structured replies, so that a customer can end the dialogue. 'text': plain replies, for models that "
        "were tuned to speak as a customer; such a customer never ends a dialogue itself.",
    )


class Settings(BaseSettings):
    """Everything that can be configured."""

    model_config = SettingsConfigDict(env_prefix="SALESFLOOR_", env_nested_delimiter="__", extra="forbid", frozen=True)

    store: str | None = Field(default=None, description="SQLAlchemy URL. Default: salesfloor.sqlite in data_dir.")
    data_dir: Path = Field(default_factory=lambda: Path(platformdirs.user_data_dir("salesfloor", appauthor=False)))
    customer: str = Field(default="embedded", description="The customer of new dialogues: 'embedded', or a MODEL.")
    intent_scorer: str = "embedded"
    judge: str = "embedded"
    models: dict[str, ModelEndpoint] = Field(default_factory=dict)
    vllm_python: Path | None = Field(default=None, description="Interpreter of the environment that vLLM lives in.")
    vllm_args: tuple[str, ...] = ()
    vllm_start_timeout_s: float = Field(default=600.0, gt=0.0)
    max_rounds: int = Field(default=MAX_ROUNDS, ge=1, le=200)
    typing_speed: float = Field(
        default=18.0,
        ge=0.0,
        description="Words (or pairs of characters) a second at which the embedded customer types. 0: at once.",
    )
    host: str = "127.0.0.1"
    port: int = Field(default=7860, ge=0, le=65535)
    single_user: bool = Field(default=False, description="No sign-in on the loopback address; the page says so.")
    trust_proxy: bool = Field(default=False, description="Believe X-Forwarded headers of a reverse proxy on this machine.")

    @field_validator("models")
    @classmethod
    def _names_are_plain(cls, models: dict[str, ModelEndpoint]) -> dict[str, ModelEndpoint]:
        for name in models:
            if name == "embedded" or ":" in name or not name.strip():
                raise ValueError(f"{name!r} is reserved; call the model something else, without a colon")
        return models

    @property
    def store_url(self) -> str:
        """The store's SQLAlchemy URL."""
        return self.store or f"sqlite:///{(self.data_dir / 'salesfloor.sqlite').as_posix()}"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 (the signature is pydantic-settings')
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        sources: list[PydanticBaseSettingsSource] = [init_settings, env_settings]
        path = config_file()
        if path is not None:
            sources.append(TomlConfigSettingsSource(settings_cls, toml_file=path))
        return tuple(sources)


def config_file() -> Path | None:
    """The configuration file in force, or None. Raises InvalidInput if ``SALESFLOOR_CONFIG`` names a file that isn't there."""
    named = os.environ.get("SALESFLOOR_CONFIG")
    if named:
        path = Path(named)
        if not path.is_file():
            raise InvalidInput(Problem("SALESFLOOR_CONFIG", f"there is no file {named!r}", "name an existing file or unset it"))
        return path
    folders = (Path.cwd(), Path(platformdirs.user_config_dir("salesfloor", appauthor=False)))
    return next((f / "salesfloor.toml" for f in folders if (f / "salesfloor.toml").is_file()), None)


def load_settings(**overrides: Any) -> Settings:
    """Read the settings. ``overrides`` (from the command line) win; None means: not given.

    Raises InvalidInput naming each wrong field and where it came from.
    """
    path = config_file()
    given = {key: value for key, value in overrides.items() if value is not None}
    try:
        return Settings(**given)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(Problem(str(path), f"not valid TOML: {error}", "mend the file")) from error
    except OSError as error:
        raise InvalidInput(Problem(str(path), f"cannot be read: {error.strerror}", "check its permissions")) from error
    except SettingsError as error:
        raise InvalidInput(Problem("an environment variable SALESFLOOR_…", str(error), "write it as JSON")) from error
    except ValidationError as error:
        problems = []
        for item in error.errors():
            field = ".".join(str(part) for part in item["loc"])
            variable = "SALESFLOOR_" + field.upper().replace(".", "__")
            source = variable if variable in os.environ else f"{path or 'settings'}: {field}"
            # The value of a key that there is not may be a secret in the wrong place.
            unknown = item["type"] == "extra_forbidden"
            mend = "remove it, or correct its spelling" if unknown else f"got {item['input']!r}"
            problems.append(Problem(source, "there is no such setting" if unknown else item["msg"], mend))
        raise InvalidInput(*problems) from error
