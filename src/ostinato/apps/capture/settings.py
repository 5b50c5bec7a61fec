"""Declares the settings of captures."""

from ostinato.settings import Section, section, setting


@section("capture")
class CaptureSettings(Section):
    """What an installation may choose."""

    skew_seconds: float = setting(
        300.0, "How far the clock of a device may be off, either way (INV-103-12).", low=1, high=86_400
    )
    max_object_bytes: int = setting(104_857_600, "Largest object that is accepted.", low=1, high=2**53 - 1)
    content_context: str = setting(
        "bound",
        "What content is encrypted with as additional data: bound, the canonical JSON of"
        " capture_id, kek_id, mime_type and user_id; or none.",
        choices=("bound", "none"),
    )
    keyring_file: str = setting(".ostinato/capture-keyring.json", "The keys that wrap those of captures; mode 600.")
    keyring: str | None = setting(
        None, "Instead of the file, a keyring of your own (a KMS) as module:NAME; NAME() has unwrap()."
    )
    store: str = setting("folder", "Where objects are.", choices=("folder", "s3"))
    folder: str = setting(".ostinato/captures", "The folder of the objects.")
    object_prefix: str = setting(
        "tenant",
        "tenant: the objects of a tenant are below a folder of its name, which no other tenant reaches;"
        " none: all share the store, and a reason may tell of an object of another.",
        choices=("tenant", "none"),
    )
    s3_bucket: str = setting("captures", "The bucket of the objects.")
    s3_endpoint: str | None = setting(None, "Address of an S3-compatible store; unset: that of AWS in the region.")
    s3_region: str = setting("eu-west-3", "Region of the bucket.")
    s3_access_key_id: str | None = setting(
        None, "Access key; unset: as AWS's own tools find it (environment, instance)."
    )
    s3_secret_access_key: str | None = setting(None, "Secret of the access key.")
    s3_session_token: str | None = setting(None, "Token of a temporary access key.")
    s3_style: str = setting(
        "path",
        "How the bucket is addressed: path, after the host; or virtual, as the first part of the host's name.",
        choices=("path", "virtual"),
    )
    s3_encryption: str = setting(
        "none",
        "How the store has to encrypt what is uploaded to our addresses; none: as the bucket's default says.",
        choices=("none", "AES256", "aws:kms", "aws:kms:dsse"),
    )
    s3_kms_key_id: str | None = setting(None, "Key of aws:kms; unset: the bucket's own.")
    upload_url_minutes: float = setting(15.0, "How long an address for an upload is valid.", low=0.02, high=10_080)
    upload_poll_seconds: float = setting(
        15.0,
        "When to look again for an object that is not there yet: the first time; then less and less often.",
        low=0.05,
        high=3600,
    )
    upload_hours: float = setting(24.0, "How long to wait for it before the capture has failed.", low=0.01, high=8760)
    trouble_hours: float = setting(
        72.0,
        "How long a capture waits for a store or a keyring that does not answer, or a key that is"
        " not there, before it has failed.",
        low=0.01,
        high=8760,
    )
    reconcile_after_minutes: float = setting(
        30.0, "How old an unsettled capture must be to be looked after.", low=1, high=10_080
    )
    reconcile_attempts: int = setting(3, "How often the check of a capture is started anew.", low=0, high=100)
    recheck_days: float = setting(
        30.0, "How often the object of a sealed capture is checked again, in days; 0: never.", low=0, high=3650
    )
    recheck_batch: int = setting(200, "How many of them an hour, at the most.", low=1, high=100_000)
    signing_key_file: str | None = setting(
        None,
        "Ed25519 key (PEM, mode 600) with which the heads of the audit log are signed every hour;"
        " unset: by command only.",
    )
    heads_folder: str = setting(
        ".ostinato/capture-heads", "Where the heads that are signed every hour go; copy it away."
    )
