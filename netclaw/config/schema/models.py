"""`Providers` and `Models`: where models are, and which one plays which role."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field, JsonValue

from netclaw.config.schema.base import Secret, Section, Text, WebAddress, fold
from netclaw.core.settings import ProviderType

MIN_CONTEXT_WINDOW = 4096
DEFAULT_CONTEXT_WINDOW = 32_768
"""What a model is taken to have if nobody says more."""


class AuthMethod(StrEnum):
    """How a provider knows the caller (`Providers.<name>.AuthMethod`)."""

    NONE = "None"
    API_KEY = "ApiKey"
    OAUTH_DEVICE = "OAuthDevice"
    OAUTH_PKCE = "OAuthPkce"


class ThinkingLevel(StrEnum):
    """How much a model may think (`ThinkingLevel`); unset leaves it to the model."""

    OFF = "Off"
    LOW = "Low"
    MEDIUM = "Medium"
    HIGH = "High"
    MAX = "Max"


class Modality(StrEnum):
    """A kind of content a model takes or gives."""

    TEXT = "Text"
    IMAGE = "Image"
    AUDIO = "Audio"
    VIDEO = "Video"
    PDF = "Pdf"


Modalities = tuple[Annotated[Modality, BeforeValidator(fold(Modality))], ...]


class Provider(Section):
    """A model service: how it is spoken to, where it is, how it knows us."""

    type: Annotated[ProviderType, BeforeValidator(fold(ProviderType))] = Field(
        description="The dialect; `local` is the model that netclaw itself serves."
    )
    endpoint: WebAddress | None = Field(
        None, description="Base address; has a default except for openai-compatible."
    )
    api_key: Secret | None = Field(
        None, description="Set it with `netclaw secrets set Providers.<name>.ApiKey`."
    )
    auth_method: Annotated[AuthMethod, BeforeValidator(fold(AuthMethod))] | None = Field(
        None, description="Unset: ApiKey if the type needs one or one is stored, else None."
    )
    vendor_options: dict[str, JsonValue] = Field(
        default_factory=dict, description="Options of one vendor, passed on as they are."
    )


class ModelDefinition(Section):
    """One model of one provider, with what is known about it."""

    provider: Text = Field(description="Name of an entry of Providers.")
    model_id: Text = Field(description="The provider's name of the model; for `local` also a path.")
    context_window: int | None = Field(
        None, ge=1, le=100_000_000, description="Tokens the model can see; a role needs 4096."
    )
    max_output_tokens: int | None = Field(
        None,
        ge=1,
        le=10_000_000,
        description="Longest answer; unset leaves it to the provider (anthropic: at most 8192,"
        " smollm2-135m: 512).",
    )
    input_modalities: Modalities | None = Field(None, description="What it takes beside text.")
    output_modalities: Modalities | None = Field(None, description="What it gives beside text.")
    thinking_level: Annotated[ThinkingLevel, BeforeValidator(fold(ThinkingLevel))] | None = Field(
        None, description="How much it may think."
    )
    provenance: Text | None = Field(None, description="Where the facts above come from.")


class Roles(Section):
    """Which definition plays which role."""

    main: Text | None = Field(None, description="Answers; required.")
    fallback: Text | None = Field(None, description="Asked when Main fails before its first word.")
    compaction: Text | None = Field(None, description="Titles and notes; unset: Main.")


class Models(Section):
    """Models by name and the roles they play; or, in the simple form, one model per role."""

    definitions: dict[Text, ModelDefinition] | None = Field(
        None, description="Known models by a name of your choice."
    )
    roles: Roles | None = Field(None, description="Role to name; required with Definitions.")
    main: ModelDefinition | None = Field(None, description="Simple form: the model that answers.")
    fallback: ModelDefinition | None = Field(None, description="Simple form: the second choice.")
    compaction: ModelDefinition | None = Field(None, description="Simple form: titles and notes.")
